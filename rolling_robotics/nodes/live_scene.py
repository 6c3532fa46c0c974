"""From the newest messages to an instant of the live scene, and to the bodies in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math

import numpy as np
from rolling_robotics.nodes.live_topics import LiveTopics
from rolling_robotics.nodes.recorded_scene import STILL
from rolling_robotics.scene.meshes import ghost_mesh
from rolling_robotics.scene.parts import error_strips
from rolling_robotics.scene.poses import Pose
from rolling_robotics.scene.scene import ABOVE, Body, Frame, GROUND, Scene, still
from rolling_robotics.viewer.history import Snapshot

CONTACT_FRAMES = ('contact_hand', 'base_footprint')
PLANNED = ('object', 'shell_link')  # bodies whose plan may come under another name


def standing_scene(topics: LiveTopics) -> Scene:
    """Return the bodies, their ghosts at the end of the plan, and the contact frames that came."""
    position, attitude = still(1)
    bodies = []
    for name in sorted({key[0] for key in topics.shapes}):
        parts = [shapes for key, shapes in topics.shapes.items() if key[0] == name]
        meshes = tuple(m for found, _ in parts for m in found)
        lines = tuple(line for _, found in parts for line in found)
        bodies.append(
            Body(
                name=name,
                position=position,
                attitude=attitude,
                meshes=meshes,
                lines=lines,
                layer=GROUND if name in STILL else ABOVE,
            )
        )
    ends = plan_ends(topics, [b.name for b in bodies])
    ghosts = (_at(b.name, ends[b.name], b) for b in bodies if b.name in ends)
    return Scene(
        title='live',
        system='live',
        times=np.zeros(1),
        bodies=tuple(bodies),
        ghosts=tuple(ghosts),
        frames=tuple(
            Frame(name=name, position=position, attitude=attitude)
            for name in CONTACT_FRAMES
            if name in topics.frames
        ),
    )


def present(topics: LiveTopics, scene: Scene) -> Scene:
    """Return what has a frame of its own, hand and what rolls, where it is now."""
    rows = {b.name: np.array([topics.frames.pose(b.name)]) for b in scene.bodies}
    bodies = (
        replace(b, position=rows[b.name][:, :3], attitude=rows[b.name][:, 3:])
        for b in scene.bodies
        if b.name in topics.frames
    )
    return replace(scene, bodies=tuple(bodies))


def plan_ends(topics: LiveTopics, names: list[str]) -> dict[str, Pose]:
    """Return where the newest plan ends, by the names of the bodies that it moves."""
    if topics.plan is None:
        return {}
    end = topics.plan.points[-1].transforms[0]
    p, q = end.translation, end.rotation
    moved = {*topics.plan.joint_names, *PLANNED}
    return {name: (p.x, p.y, p.z, q.w, q.x, q.y, q.z) for name in names if name in moved}


def seen(topics: LiveTopics, now: float, scene: Scene, mu: float) -> Snapshot:
    """
    Return the present.

    Parameters
    ----------
    topics
        The newest messages.
    now
        Time by a steady clock [s].
    scene
        Its bodies and frames are looked for.
    mu
        Coefficient of friction that was known before.

    """
    poses = {item.name: topics.frames.pose(item.name) for item in (*scene.bodies, *scene.frames)}
    force = None
    if topics.wrench is not None:
        f = topics.wrench.wrench.force
        force = (f.x, f.y, f.z)
    state = topics.contact
    if state is not None and state.friction_utilisation > 0:
        found = state.required_friction / state.friction_utilisation
        mu = found if math.isfinite(found) else mu
    return Snapshot(
        time=now, poses=poses, force=force, mu=mu, values=_values(topics, scene, poses)
    )


def _values(
    topics: LiveTopics, scene: Scene, poses: Mapping[str, Pose]
) -> dict[str, tuple[float, float]]:
    """Return margins and errors for the curves, each with its limit."""
    values: dict[str, tuple[float, float]] = {}
    if topics.contact is not None:
        values['friction used'] = 1.0, topics.contact.friction_utilisation
    if topics.wrench is not None:
        values['normal force [N]'] = 0.0, topics.wrench.wrench.force.z
    bodies = [_at(ghost.name, poses[ghost.name]) for ghost in scene.ghosts]
    for strip in error_strips(bodies, scene.ghosts):
        error = max(float(curve[0]) for curve in strip.curves.values())
        values[f'{strip.title.replace("plan", "goal")} [{strip.unit}]'] = 0.0, error
    return {title: pair for title, pair in values.items() if math.isfinite(pair[1])}


def _at(name: str, pose: Pose, drawn_as: Body | None = None) -> Body:
    """Return a body at a pose, for one time."""
    meshes = () if drawn_as is None else tuple(ghost_mesh(m) for m in drawn_as.meshes)
    row = np.array([pose])
    return Body(name=name, position=row[:, :3], attitude=row[:, 3:], meshes=meshes)
