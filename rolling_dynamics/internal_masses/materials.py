"""
Coefficients of static friction of pairs of materials.

Source: the values that Putkaradze & Rogers (normal force), Section 5, quote from the ASM Handbook,
Volume 18: Friction, Lubrication, and Wear Technology, 2017, for a shell of aluminium. Dry, clean
surfaces; they tell an order of magnitude, no design value.
"""

from __future__ import annotations

SOURCE = (
    'ASM Handbook, Volume 18: Friction, Lubrication, and Wear Technology, 2017, as quoted by '
    'Putkaradze & Rogers; dry, clean surfaces'
)
STATIC_FRICTION: dict[tuple[str, str], float] = {
    ('aluminium', 'aluminium'): 0.42,
    ('aluminium', 'steel'): 0.35,
    ('aluminium', 'titanium'): 0.34,
    ('aluminium', 'nickel'): 0.33,
    ('aluminium', 'copper'): 0.28,
    ('aluminium', 'chromium'): 0.27,
    ('aluminium', 'glass'): 0.17,
    ('aluminium', 'graphite'): 0.16,
}


def pairs_that_hold(mu: float) -> dict[tuple[str, str], bool]:
    """Return for each pair whether its coefficient of static friction is at least mu."""
    return {pair: value >= mu for pair, value in STATIC_FRICTION.items()}
