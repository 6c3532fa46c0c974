"""
Build ROS interface packages into a virtual environment that holds the ROS wheels.

The interfaces are installed into the environment itself, so that its Python finds them without
any path variable. Besides the packages named on the command line this builds a `tf2_msgs` that
holds TFMessage alone, where the environment has none: the wheels come without it.

    .venv/bin/python tools/build_interfaces.py --build-folder build/jazzy rolling_interfaces
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

from kept_builds import archive_of, keep, restore

# Variables that would let another ROS installation or Python leak into the build.
FOREIGN_VARIABLES = (
    'AMENT_PREFIX_PATH',
    'CMAKE_PREFIX_PATH',
    'COLCON_PREFIX_PATH',
    'LD_LIBRARY_PATH',
    'PYTHONHOME',
    'PYTHONPATH',
    '_ROS_WHEELS_BOOTSTRAP_COMPLETE',
)

SYSTEM_PREFIXES = (Path('/usr'), Path('/usr/local'))

MANIFEST = Path(__file__).resolve().parents[1] / 'package.xml'  # it has the address
TF2_MSGS = {
    'msg/TFMessage.msg': 'geometry_msgs/TransformStamped[] transforms\n',
    'CMakeLists.txt': """\
cmake_minimum_required(VERSION 3.20)
project(tf2_msgs)
find_package(ament_cmake REQUIRED)
find_package(geometry_msgs REQUIRED)
find_package(rosidl_default_generators REQUIRED)
rosidl_generate_interfaces(${PROJECT_NAME} "msg/TFMessage.msg" DEPENDENCIES geometry_msgs)
ament_export_dependencies(rosidl_default_runtime)
ament_package()
""",
    'package.xml': f"""\
<?xml version="1.0"?>
<package format="3">
  <name>tf2_msgs</name>
  <version>0.0.0</version>
  <description>TFMessage alone, for an environment without tf2.</description>
  {re.findall('<maintainer.*', MANIFEST.read_text('utf-8'))[0]}
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
  <depend>geometry_msgs</depend>
  <exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
""",
}


def repair_exported_targets(environment: Path) -> int:
    """
    Blank the include folders that the wheels export for their Python modules.

    They name folders of the machine that the wheels were made on, which CMake refuses.

    Parameters
    ----------
    environment
        Root folder of the virtual environment.

    Returns
    -------
    int
        Number of files that were changed.

    """
    changed = 0
    for path in environment.glob('share/*/cmake/export_*__rosidl_generator_pyExport.cmake'):
        text = path.read_text(encoding='utf-8')
        repaired = re.sub(r'(INTERFACE_INCLUDE_DIRECTORIES) "/opt/[^"]*"', r'\1 ""', text)
        if repaired != text:
            path.write_text(repaired, encoding='utf-8')
            changed += 1
    return changed


def write_tf2_msgs(folder: Path) -> Path:
    """Write the source of the small `tf2_msgs` below `folder` and return its path."""
    package = folder / 'source' / 'tf2_msgs'
    for name, text in TF2_MSGS.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
    return package


def remove_installed(build: Path) -> None:
    """Remove the files that the previous build of this folder installed, then the folder."""
    manifest = build / 'install_manifest.txt'
    if manifest.is_file():
        for line in manifest.read_text(encoding='utf-8').splitlines():
            Path(line).unlink(missing_ok=True)
    shutil.rmtree(build, ignore_errors=True)


def system_ros_folders() -> list[str]:
    """Return the CMake folders of ROS packages that the system holds: CMake must not see them."""
    return [
        str(path)
        for prefix in SYSTEM_PREFIXES
        for pattern in ('ament_*', 'rosidl_*', '*_cmake_module')
        for path in sorted(prefix.glob(f'share/{pattern}/cmake'))
    ]


def search_path(environment: Path) -> str:
    """Return PATH with the environment first and without sourced ROS installations."""
    kept = [
        folder
        for folder in os.environ.get('PATH', os.defpath).split(os.pathsep)
        if Path(folder).parent in SYSTEM_PREFIXES
        or not (Path(folder).parent / 'share' / 'ament_index').is_dir()
    ]
    return os.pathsep.join([str(environment / 'bin'), *kept])


def run(command: list[str], environment_variables: dict[str, str], log: Path) -> None:
    """Run a command with its output in `log`; print the end of that and exit where it fails."""
    with log.open('a', encoding='utf-8') as stream:
        print('$', *command, file=stream, flush=True)
        result = subprocess.run(
            command,
            check=False,
            env=environment_variables,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    if result.returncode != 0:
        tail = log.read_text(encoding='utf-8', errors='replace').splitlines()[-40:]
        print(*tail, sep='\n', file=sys.stderr)
        raise SystemExit(
            f'{command[0]} failed with exit status {result.returncode}; the whole output is in '
            f'{log}. It needs a C++ compiler and the headers of Python.'
        )


def build_package(source: Path, environment: Path, build_folder: Path) -> None:
    """
    Configure, compile and install one interface package, or install what an earlier build made.

    Parameters
    ----------
    source
        Folder of the package, with its CMakeLists.txt.
    environment
        Root folder of the virtual environment: where dependencies are found and files installed.
    build_folder
        Folder for what CMake writes.

    """
    build = build_folder / source.name
    remove_installed(build)
    archive = archive_of(source, Path(__file__))
    if restore(archive, environment, build):
        print(f'  taken from {archive}', flush=True)
        return
    build.mkdir(parents=True)
    log = build / 'output.log'
    variables = {k: v for k, v in os.environ.items() if k not in FOREIGN_VARIABLES}
    variables['AMENT_PREFIX_PATH'] = str(environment)
    variables['PATH'] = search_path(environment)
    cmake = str(environment / 'bin' / 'cmake')
    configure = [
        cmake,
        '-S',
        str(source),
        '-B',
        str(build),
        f'-DCMAKE_PREFIX_PATH={environment}',
        f'-DCMAKE_INSTALL_PREFIX={environment}',
        '-DCMAKE_BUILD_TYPE=Release',
        f'-DPython3_EXECUTABLE={environment / "bin" / "python3"}',
        '-DPython3_FIND_VIRTUALENV=ONLY',
        '-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF',
        f'-DCMAKE_IGNORE_PATH={";".join(system_ros_folders())}',
        '-DBUILD_TESTING=OFF',
    ]
    run(configure, variables, log)
    run([cmake, '--build', str(build), '--parallel', str(os.cpu_count() or 1)], variables, log)
    run([cmake, '--install', str(build)], variables, log)
    keep(archive, environment, build)


def main() -> None:
    """Build what the command line names into the environment of the running Python."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('packages', nargs='+', type=Path, help='folders of interface packages')
    parser.add_argument('--build-folder', type=Path, required=True, help='where CMake writes')
    arguments = parser.parse_args()
    environment = Path(sys.prefix)
    if sys.prefix == sys.base_prefix:
        raise SystemExit(
            f'{sys.executable} is not in a virtual environment; run this with .venv/bin/python'
        )
    build_folder = arguments.build_folder.resolve()
    build_folder.mkdir(parents=True, exist_ok=True)
    (build_folder / 'COLCON_IGNORE').touch()
    repair_exported_targets(environment)
    packages = [path.resolve() for path in arguments.packages]
    if not (environment / 'share' / 'tf2_msgs').is_dir() or (build_folder / 'tf2_msgs').is_dir():
        packages.insert(0, write_tf2_msgs(build_folder))
    for package in packages:
        print(f'Building {package.name} ...', flush=True)
        build_package(package, environment, build_folder)


if __name__ == '__main__':
    main()
