from .animation.movie import Shot as Shot
from .animation.movie import write_movie as write_movie
from .files import read_result as read_result
from .files import write_json as write_json
from .plot import draw as draw
from .result import simulate_scenario as simulate_scenario
from .result import simulation_result as simulation_result
from .scene.general import scene_of as scene_of
