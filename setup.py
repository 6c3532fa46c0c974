"""Installation of rolling_robotics, by pip with or without ROS and by colcon."""

from pathlib import Path
import re
import sys
from xml.etree import ElementTree as ET

from setuptools import find_packages, setup

PACKAGE = 'rolling_robotics'
# colcon --symlink-install calls from a folder that holds a link to this file, and to nothing else
ROOT = Path(__file__).resolve().parent
# package.xml has the address and the maintainers; `make release` refuses placeholders
MANIFEST = ET.parse(ROOT / 'package.xml').getroot()  # noqa: S314  the project's own file
HOME = MANIFEST.findtext('url', '')
MAINTAINER = MANIFEST.findtext('maintainer', '')
ADDRESS = next(element.attrib['email'] for element in MANIFEST.iter('maintainer'))
COMMANDS = ['rolling = rolling_robotics.cli:main']
NODES = [
    'simulator_node = rolling_dynamics.nodes.simulator_node:main',
    'robot_simulator_node = rolling_node_kit.renamed:main',
    'hybrid_simulator_node = rolling_node_kit.renamed:main',
    'planner_node = rolling_planner.nodes.planner_node:main',
    'controller_node = rolling_controller.nodes.controller_node:main',
    'robot_controller_node = rolling_node_kit.renamed:main',
    'laboratory_controller_node = rolling_node_kit.renamed:main',
    'emulated_camera_node = rolling_node_kit.renamed:main',
    'rig_simulator_node = rolling_node_kit.renamed:main',
    'rig_controller_node = rolling_node_kit.renamed:main',
    'motor_bridge_node = rolling_hw_interface.nodes.motor_bridge_node:main',
    'vision_bridge_node = rolling_hw_interface.nodes.vision_bridge_node:main',
    'estimator_node = rolling_hw_interface.nodes.estimator_node:main',
    'emulated_motors_node = rolling_node_kit.renamed:main',
    'recorder_node = rolling_robotics.nodes.recorder_node:main',
]
EXTRAS = {  # what some commands need: rolling_dynamics/extras.py says which
    'completion': ['shtab>=1.7'],
    'learning': ['cma>=4', 'gymnasium>=1.2'],
    'mesh': ['trimesh>=4'],
    'page': ['ziglang>=0.13'],
    'predictive': ['daqp>=0.7'],
    'record': ['rosbags>=0.10'],
    'sweep': ['pyarrow>=15'],
    'viewer': ['viser>=1.1'],
}
# colcon calls this file with `install` or `develop`, and setup.cfg has it put programs where
# `ros2 run` looks for them. pip puts the programs of a wheel on everybody's PATH: no nodes there.
# Before both, colcon asks for the data files in a dry run.
BY_COLCON = not {'install', 'develop', '--dry-run'}.isdisjoint(sys.argv)


def files(folder: str, *suffixes: str) -> list[str]:
    """Return the files directly below a folder that end in one of the suffixes."""
    return sorted(str(path) for path in Path(folder).glob('*') if path.name.endswith(suffixes))


def readme() -> str:
    """Return README.md with links that lead somewhere on a page of its own."""
    text = (ROOT / 'README.md').read_text(encoding='utf-8')
    text = re.sub(r'(!\[[^\]]*\]\()(?!https?:)', rf'\1{HOME}/raw/main/', text)
    return re.sub(r'((?<!!)\[[^\]!]*\]\()(?!https?:|#)', rf'\1{HOME}/blob/main/', text)


setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(
        include=[
            'rolling_dynamics*',
            'rolling_planner*',
            'rolling_controller*',
            'rolling_hw_interface*',
            'rolling_node_kit*',
            'rolling_robotics*',
            'evidence',
            'evidence.papers*',
            'evidence.reality*',
        ],
        exclude=['test', 'test.*'],
    ),
    package_data={'': ['py.typed', '*.pyi', '*.c', '*.html', '*.js', '*.json', '*.yaml']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        (f'share/{PACKAGE}/launch', files('launch', '.launch.py')),
        (f'share/{PACKAGE}/config', files('config', '.yaml', '.rviz', '.json', '.xml', '.urdf')),
        (f'share/{PACKAGE}/config/security', files('config/security', '.xml')),
        (f'share/{PACKAGE}/config/scenarios', files('config/scenarios', '.yaml')),
        *([('bin', ['resource/rolling'])] if BY_COLCON else []),
    ],
    python_requires='>=3.10',
    # Lower bounds are the oldest versions that were tried; rclpy is not here on purpose:
    # without ROS the mathematics, the planner and the command line work, the nodes do not.
    install_requires=[
        'casadi>=3.8',
        'lazy-loader>=0.4',
        'matplotlib>=3.6',
        'numpy>=1.26',
        'pydantic>=2.10',
        'PyYAML>=6.0',
        'scipy>=1.11.1',
        'transforms3d>=0.4.1',
    ],
    extras_require={
        **EXTRAS,
        'all': [library for extra in EXTRAS.values() for library in extra],
        'bench': ['mujoco>=3', 'psutil>=5.9'],
        'docs': [
            'furo>=2025.9',
            'latex2mathml>=3.77',
            'myst-parser>=4',
            'sphinx>=8',
            'sphinx-copybutton>=0.5',
            'sphinxcontrib-bibtex>=2.6',
        ],
        'jax': ['jax>=0.5'],
        'test': ['hypothesis>=6.100', 'jsonschema>=4.10', 'pytest>=8', 'pytest-timeout>=2.3'],
    },
    zip_safe=False,
    author=MAINTAINER,
    author_email=ADDRESS,
    maintainer=MAINTAINER,
    maintainer_email=ADDRESS,
    url=HOME,
    project_urls={
        'Source': HOME,
        'Documentation': f'{HOME}/blob/main/docs/index.md',
        'Changelog': f'{HOME}/blob/main/CHANGELOG.rst',
        'Issues': f'{HOME}/issues',
    },
    description='Dynamics, planning and control of rolling contact, for ROS 2 and without.',
    long_description=readme(),
    long_description_content_type='text/markdown',
    classifiers=[
        'Development Status :: 4 - Beta',
        'Environment :: Console',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Topic :: Scientific/Engineering :: Physics',
        'Typing :: Typed',
    ],
    keywords=['rolling contact', 'robotics', 'manipulation', 'ROS 2', 'optimal control'],
    license='Apache-2.0',
    entry_points={'console_scripts': COMMANDS + (NODES if BY_COLCON else [])},
)
