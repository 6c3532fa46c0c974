"""Top of the suite: the command line, experiments, results and their pictures."""

from typing import TYPE_CHECKING

from rolling_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from rolling_robotics.animation.movie import Shot, write_movie
    from rolling_robotics.files import read_result, write_json
    from rolling_robotics.plot import draw
    from rolling_robotics.result import simulation_result
    from rolling_robotics.run_scenario import simulate_scenario
    from rolling_robotics.scene.build import scene_of

__all__ = [
    'Shot',
    'draw',
    'read_result',
    'scene_of',
    'simulate_scenario',
    'simulation_result',
    'write_json',
    'write_movie',
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        'Shot': 'rolling_robotics.animation.movie',
        'draw': 'rolling_robotics.plot',
        'read_result': 'rolling_robotics.files',
        'scene_of': 'rolling_robotics.scene.build',
        'simulate_scenario': 'rolling_robotics.run_scenario',
        'simulation_result': 'rolling_robotics.result',
        'write_json': 'rolling_robotics.files',
        'write_movie': 'rolling_robotics.animation.movie',
    },
)
