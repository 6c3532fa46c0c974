from .control import Control as Control
from .scenario import load_scenario as load_scenario
from .scenario import Scenario as Scenario
from .scenario import ScenarioFile as ScenarioFile
from .scenario import Tolerances as Tolerances
