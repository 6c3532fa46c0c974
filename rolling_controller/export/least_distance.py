"""
A quadratic program in C: the point nearest to a start, within rows of limits.

The unknowns are y = L' u with the Hessian H = L L', so that the cost is the distance from a start.
The method is the dual active set of Goldfarb and Idnani (1983). It starts at the start and adds
the most violated row. It needs no feasible point and ends after few rounds where few limits are
active. Of the rows it needs only their products with each other, a constant table: the unknowns
are never formed, only the values of the rows. It keeps the factors L D L' of the products of the
active rows, without square roots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rolling_controller.export.c import table
from rolling_dynamics.arrays import Array
from scipy.linalg import solve_triangular

ROUNDS = 160  # of taking up or giving up a row, at most


@dataclass(frozen=True)
class LeastDistance:
    """
    Programs ``min u' H u / 2 + f' u, low <= C u <= high`` of one H and C.

    Attributes
    ----------
    factor
        L, shape (n, n).
    rows
        C in the unknowns y, each of length 1, shape (m, n).
    scale
        Divisors of the rows of C, shape (m,).

    """

    factor: Array
    rows: Array
    scale: Array

    @classmethod
    def of(cls, H: Array, C: Array) -> LeastDistance:
        """Return programs of a positive definite H and C, shapes (n, n), (m, n), in any unit."""
        factor = np.asarray(np.linalg.cholesky(H), dtype=float)
        rows = solve_triangular(factor, C.T, lower=True).T
        scale = np.linalg.norm(rows, axis=1)
        return cls(factor, rows / scale[:, None], scale)

    def start(self, f: Array) -> Array:
        """Return the rows without limits, shape (m, k), any unit, of gradients (n, k)."""
        return np.asarray(-self.rows @ solve_triangular(self.factor, f, lower=True))

    @property
    def operations(self) -> int:
        """Operations of a solution, at most."""
        m, n = map(int, self.rows.shape)
        taken_up = (ROUNDS + n + 1) // 2  # rounds: none is given up that was not taken up
        way = 2 * n**2 + 12 * n + 2 * m * n + 3 * m
        return ROUNDS * way + (taken_up + 1) * 4 * m + (ROUNDS - taken_up) * (2 * n**2 + 8 * n)

    @property
    def work(self) -> int:
        """Numbers that a solution keeps on the stack."""
        m, n = map(int, self.rows.shape)
        return n * (n + 1) + 4 * n + 1 + m

    def text(self) -> str:
        """Return C: tables, and ``nearest(value, low, high)``, which returns its rounds."""
        m, n = self.rows.shape
        defined = f'#define UNKNOWNS {n}\n#define ROWS {m}\n#define ROUNDS {ROUNDS}\n'
        tables = table('products', self.rows @ self.rows.T) + table('scale', self.scale)
        return f'\n{defined}\n{tables}{SOLVER}'


SOLVER = """
/* Of distances, and below which a direction counts as zero. */
static const REAL CLOSE = (REAL)(sizeof(REAL) < 8 ? 1e-3 : 1e-9);
static const REAL FLAT = (REAL)(sizeof(REAL) < 8 ? 1e-5 : 1e-10);

static REAL dot(const REAL *a, const REAL *b, int count) {
  REAL sum = 0;
  int k;
  for (k = 0; k < count; ++k) {
    sum += a[k] * b[k];
  }
  return sum;
}

/* Rows that hold, on which side, their multipliers, and the factors of their products. */
typedef struct {
  REAL factor[UNKNOWNS + 1][UNKNOWNS], pivot[UNKNOWNS + 1], side[UNKNOWNS], price[UNKNOWNS];
  int row[UNKNOWNS], count;
} held_rows;

/*
 * Writes how the multipliers fall while another row's rises, and below the factors what that
 * row would add; returns how fast its own value moves.
 */
static REAL direction(held_rows *held, int row, REAL side, REAL *falls) {
  REAL *const added = held->factor[held->count], square = products[row][row];
  int i, k;
  for (i = 0; i < held->count; ++i) {
    const REAL product = held->side[i] * side * products[row][held->row[i]];
    falls[i] = product - dot(held->factor[i], falls, i);
  }
  for (i = 0; i < held->count; ++i) {
    added[i] = falls[i] / held->pivot[i];
    square -= falls[i] * added[i];
  }
  for (i = 0; i < held->count; ++i) {
    falls[i] = added[i];
  }
  for (i = held->count - 1; i > 0; --i) {
    for (k = 0; k < i; ++k) {
      falls[k] -= held->factor[i][k] * falls[i];
    }
  }
  return square;
}

/* Moves the values of all rows along the way of a row, by a step. */
static void move(const held_rows *held, int row, REAL side, const REAL *falls, REAL step,
                 REAL *value) {
  REAL way[ROWS];
  int i, k;
  for (k = 0; k < ROWS; ++k) {
    way[k] = side * products[row][k];
  }
  for (i = 0; i < held->count; i += 2) { /* two at a time: this is most of the work */
    const int next = i + 1 < held->count ? i + 1 : i;
    const REAL a = falls[i] * held->side[i], b = next > i ? falls[next] * held->side[next] : 0;
    const REAL *const one = products[held->row[i]], *const other = products[held->row[next]];
    for (k = 0; k < ROWS; ++k) {
      way[k] -= a * one[k] + b * other[k];
    }
  }
  for (k = 0; k < ROWS; ++k) {
    value[k] -= step * way[k];
  }
}

/* Takes a row out: what it held of those behind it is added to their factors. */
static void give_up(held_rows *held, int which) {
  REAL rest[UNKNOWNS], weight = held->pivot[which];
  int i, k;
  held->count -= 1;
  for (i = which; i < held->count; ++i) {
    held->row[i] = held->row[i + 1];
    held->side[i] = held->side[i + 1];
    held->price[i] = held->price[i + 1];
    held->pivot[i] = held->pivot[i + 1];
    rest[i] = held->factor[i + 1][which];
    for (k = 0; k < i; ++k) {
      held->factor[i][k] = held->factor[i + 1][k < which ? k : k + 1];
    }
  }
  for (k = which; k < held->count; ++k) {
    const REAL along = rest[k], pivot = held->pivot[k] + weight * along * along;
    const REAL share = weight * along / pivot;
    weight = weight * held->pivot[k] / pivot;
    held->pivot[k] = pivot;
    for (i = k + 1; i < held->count; ++i) {
      rest[i] -= along * held->factor[i][k];
      held->factor[i][k] += share * rest[i];
    }
  }
}

/*
 * Takes the values of the rows from a start to the nearest point within the limits; returns how
 * many rounds that took, or -1 where it was not found within them.
 */
static int nearest(REAL *value, const REAL *low, const REAL *high) {
  held_rows held;
  int rounds = 0, i;
  held.count = 0;
  for (;;) {
    REAL gap = CLOSE, side = 1, price = 0, square;
    int row = -1, which;
    for (i = 0; i < ROWS; ++i) {
      if (value[i] - high[i] > gap || low[i] - value[i] > gap) {
        side = value[i] > high[i] ? 1 : -1;
        gap = value[i] > high[i] ? value[i] - high[i] : low[i] - value[i];
        row = i;
      }
    }
    if (row < 0) {
      return rounds;
    }
    do {
      REAL falls[UNKNOWNS], step;
      if (rounds++ >= ROUNDS) {
        return -1;
      }
      square = direction(&held, row, side, falls);
      step = square > FLAT ? gap / square : -1;
      which = -1;
      for (i = 0; i < held.count; ++i) {
        if (falls[i] > FLAT && (step < 0 || held.price[i] / falls[i] < step)) {
          step = held.price[i] / falls[i];
          which = i;
        }
      }
      if (step < 0 || (which < 0 && held.count == UNKNOWNS)) {
        return -1;
      }
      price += step;
      for (i = 0; i < held.count; ++i) {
        held.price[i] -= step * falls[i];
      }
      if (square > FLAT) {
        gap -= step * square;
        move(&held, row, side, falls, step, value);
      }
      if (which >= 0) {
        give_up(&held, which);
      }
    } while (which >= 0);
    held.row[held.count] = row;
    held.side[held.count] = side;
    held.price[held.count] = price;
    held.pivot[held.count] = square;
    held.count += 1;
  }
}
"""
