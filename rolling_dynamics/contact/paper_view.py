"""
The 22 numbers in which Woodruff & Lynch write the state, Section V-A.

s = (Phi_sh, r_sh, q, V_sh, q_dot): roll, pitch and yaw of the hand about the axes of the world,
origin of the hand, contact coordinates, body twist of the hand (w, v), rates of the coordinates.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import convert_state
from rolling_dynamics.contact.representation import second_order_kinematics
from rolling_dynamics.contract.rolling_system import Entry, Layout, vector_entry
from rolling_dynamics.errors import ParameterError
from transforms3d.euler import euler2quat, quat2euler

ROLLING = 1e-6  # part of q_dot that no rolling gives, against the whole

PAPER_VIEW = Layout(
    (
        Entry('Phi_sh', ('roll', 'pitch', 'yaw'), 'rad', 'W', 'angle', 'attitude of the hand'),
        vector_entry('r_sh', 'm', 'W', 'origin of the hand'),
        Entry('q', ('u_o', 'v_o', 'u_h', 'v_h', 'psi'), 'chart', text='contact coordinates'),
        Entry(
            'V_sh',
            ('w_x', 'w_y', 'w_z', 'v_x', 'v_y', 'v_z'),
            'rad/s, m/s',
            'H',
            text='body twist of the hand',
        ),
        Entry(
            'q_dot',
            ('u_o_dot', 'v_o_dot', 'u_h_dot', 'v_h_dot', 'psi_dot'),
            'chart/s',
            text='rates of the contact coordinates',
        ),
    )
)


def paper_view(
    system: ContactSystem,
    p: ArrayLike,
    x: ArrayLike,
    *,
    object_chart: int | None = None,
    hand_chart: int | None = None,
) -> NDArray[np.float64]:
    """
    Return the state as the paper writes it.

    Parameters
    ----------
    system
        The system, in any representation.
    p
        Its parameters.
    x
        State.
    object_chart, hand_chart
        Charts; those of the system if None.

    Returns
    -------
    NDArray
        Shape (22,), laid out as ``PAPER_VIEW``.

    """
    target = _on_charts(system, object_chart, hand_chart)
    values = target.state.unpack(convert_state(system, target, p, x))
    q = np.concatenate([values['contact_o'], values['contact_h'], values['psi']])
    K1 = _K1(target, p, q)
    return PAPER_VIEW.pack(
        Phi_sh=quat2euler(values['q_WH'], 'sxyz'),
        r_sh=values['p_WH'],
        q=q,
        V_sh=np.concatenate([values['w_WH_H'], values['v_WH_H']]),
        q_dot=K1 @ values['w_HO_Ch'],
    )


def state_from_paper_view(
    system: ContactSystem,
    p: ArrayLike,
    s: ArrayLike,
    *,
    object_chart: int | None = None,
    hand_chart: int | None = None,
) -> NDArray[np.float64]:
    """
    Return the state of a system from the paper's 22 numbers.

    Parameters
    ----------
    system
        The system, in any representation.
    p
        Its parameters.
    s
        Shape (22,), laid out as ``PAPER_VIEW``.
    object_chart, hand_chart
        Charts of s; those of the system if None.

    Returns
    -------
    NDArray
        State of ``system``.

    Raises
    ------
    ParameterError
        q_dot is not that of a rolling motion, Eq. (33).

    """
    source = _on_charts(system, object_chart, hand_chart)
    values = PAPER_VIEW.unpack(s)
    K1 = _K1(source, p, values['q'])
    w_rel, *_ = np.linalg.lstsq(K1, values['q_dot'], rcond=None)
    off = float(np.linalg.norm(K1 @ w_rel - values['q_dot']))
    if not off <= ROLLING * max(float(np.linalg.norm(values['q_dot'])), 1e-9):
        raise ParameterError(
            f'q_dot = {values["q_dot"].tolist()} is not a rolling motion: {off:.3g} of it is '
            'sliding, Eq. (33)'
        )
    x = source.state.pack(
        q_WH=euler2quat(*values['Phi_sh'], 'sxyz'),
        p_WH=values['r_sh'],
        contact_o=values['q'][0:2],
        contact_h=values['q'][2:4],
        psi=values['q'][4],
        w_WH_H=values['V_sh'][0:3],
        v_WH_H=values['V_sh'][3:6],
        w_HO_Ch=w_rel,
    )
    return convert_state(source, system, p, x)


@lru_cache(maxsize=16)
def _on_charts(
    system: ContactSystem, object_chart: int | None, hand_chart: int | None
) -> ContactSystem:
    return system.with_representation(
        'coordinates',
        object_chart=system.object_chart if object_chart is None else object_chart,
        hand_chart=hand_chart,
    )


def _K1(system: ContactSystem, p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    kinematics = second_order_kinematics(
        system.object_surface, system.hand_surface, system.object_chart, system.hand_chart
    )
    params = system.parameters.unpack(p)
    return np.array(
        kinematics(
            np.asarray(q, dtype=float),
            [0, 0, 0],
            [0, 0],
            params['object_surface'],
            params['hand_surface'],
        )[0]
    )
