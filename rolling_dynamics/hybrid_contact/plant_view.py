"""What can be seen of a hybrid plant: poses and twists of both bodies, contact and its force."""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.rotations import product, rotation_matrix

VIEW = Layout(
    (
        quaternion_entry('q_WO', 'attitude of the object'),
        vector_entry('p_WO', 'm', 'W', 'centre of mass of the object'),
        vector_entry('w_WO_O', 'rad/s', 'O', 'its angular velocity'),
        vector_entry('v_WO_O', 'm/s', 'O', 'velocity of its centre of mass'),
        quaternion_entry('q_WH', 'attitude of the hand'),
        vector_entry('p_WH', 'm', 'W', 'origin of the hand'),
        vector_entry('w_WH_H', 'rad/s', 'H', 'its angular velocity'),
        vector_entry('v_WH_H', 'm/s', 'H', 'velocity of its origin'),
        vector_entry('p_HC_H', 'm', 'H', 'lowest point of the object, the contact where it rolls'),
        vector_entry('torque_H', 'N m', 'H', 'torque on the object about that point'),
        vector_entry('force_H', 'N', 'H', 'contact force on the object'),
        Entry('gap', ('gap',), 'm', text='distance between object and plate'),
    )
)


def plant_views(system: HybridContactSystem) -> dict[str, FastFunction]:
    """Return ``(x, u, p) -> VIEW`` of each mode of a plant."""
    e, s = system.expressions, system.scene
    b = s.body
    R_WH = rotation_matrix(b.q_WH)
    v_H = b.v_WH_H + ca.cross(b.w_WH_H, b.p_HO_H) + b.v_HO_H
    functions = []
    for name, mode in system.equations.items():
        values = {
            'q_WO': product(b.q_WH, b.q_HO),
            'p_WO': b.p_WH + R_WH @ b.p_HO_H,
            'w_WO_O': s.contact.R_HO.T @ (b.w_WH_H + b.w_HO_H),
            'v_WO_O': s.contact.R_HO.T @ v_H,
            'q_WH': b.q_WH,
            'p_WH': b.p_WH,
            'w_WH_H': b.w_WH_H,
            'v_WH_H': b.v_WH_H,
            'p_HC_H': s.contact.p_HC,
            'torque_H': mode.wrench[0:3],
            'force_H': mode.wrench[3:6],
            'gap': s.gap,
        }
        out = ca.densify(ca.vertcat(*(values[entry.name] for entry in VIEW.entries)))
        functions.append(ca.Function(f'plant_view_{name}', [e.x, e.u, e.p], [out]))
    pairs = zip(system.equations, compiled(*functions), strict=True)
    return {name: FastFunction(function) for name, function in pairs}
