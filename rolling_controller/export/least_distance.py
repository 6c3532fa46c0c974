"""
A quadratic program in C: the point nearest to where a start is, within rows of limits.

Its Hessian is taken into the unknowns y = L' u, H = L L', when the law is exported, so that the
cost is the distance from a start. The method is the dual active set of Goldfarb and Idnani (1983),
which begins at the start and takes up the row that is missed by most. It needs no feasible point,
ends after few rounds where few limits count, and keeps only a triangular factor.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

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
        What the rows of C were divided by, shape (m,).

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
        """Return y without limits, shape (n, k), of gradients, shape (n, k), of any unit."""
        return np.asarray(-solve_triangular(self.factor, f, lower=True))

    @property
    def operations(self) -> int:
        """Operations of a solution, at most."""
        m, n = map(int, self.rows.shape)
        taken_up = 2 * m * n + 3 * m + n**2
        given_up = n**3 / 3 + n**2  # the first of all: at most every other round
        return math.ceil(ROUNDS * (6 * n**2 + 12 * n + (taken_up + given_up) / 2))

    @property
    def work(self) -> int:
        """Numbers that a solution keeps on the stack."""
        n = int(self.factor.shape[0])
        return 2 * n * n + 6 * n

    def text(self) -> str:
        """Return C: tables, and ``nearest(y, low, high)``, which is 1 where it was found."""
        m, n = self.rows.shape
        defined = f'#define UNKNOWNS {n}\n#define ROWS {m}\n#define ROUNDS {ROUNDS}\n'
        return f'\n{defined}\n{table("rows", self.rows)}{table("scale", self.scale)}{SOLVER}'


SOLVER = """
/* Of distances, and below which a direction is none. */
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

/* Rows that hold, on which side, their multipliers, their products and the factor of those. */
typedef struct {
  REAL product[UNKNOWNS + 1][UNKNOWNS], factor[UNKNOWNS][UNKNOWNS];
  REAL side[UNKNOWNS], price[UNKNOWNS];
  int row[UNKNOWNS], count;
} held_rows;

/* Factors the products of the rows that hold, from one of them on. */
static void factorise(held_rows *held, int first) {
  int i, j;
  for (i = first; i < held->count; ++i) {
    for (j = 0; j <= i; ++j) {
      const REAL rest = held->product[i][j] - dot(held->factor[i], held->factor[j], j);
      if (j < i) {
        held->factor[i][j] = rest / held->factor[j][j];
      } else {
        const REAL root = root_of(rest);
        held->factor[i][i] = root > FLAT ? root : FLAT;
      }
    }
  }
}

/*
 * Writes the products of another row with those that hold, behind theirs, how the multipliers
 * fall while its own rises, and how y moves with it.
 */
static void direction(held_rows *held, int row, REAL side, REAL *falls, REAL *way) {
  int i, k;
  for (i = 0; i < held->count; ++i) {
    const REAL product = held->side[i] * side * dot(rows[held->row[i]], rows[row], UNKNOWNS);
    held->product[held->count][i] = product;
    falls[i] = (product - dot(held->factor[i], falls, i)) / held->factor[i][i];
  }
  for (i = held->count - 1; i >= 0; --i) {
    for (k = i + 1; k < held->count; ++k) {
      falls[i] -= held->factor[k][i] * falls[k];
    }
    falls[i] /= held->factor[i][i];
  }
  for (k = 0; k < UNKNOWNS; ++k) {
    way[k] = side * rows[row][k];
  }
  for (i = 0; i < held->count; ++i) {
    const REAL share = falls[i] * held->side[i], *const other = rows[held->row[i]];
    for (k = 0; k < UNKNOWNS; ++k) {
      way[k] -= share * other[k];
    }
  }
}

static void give_up(held_rows *held, int which) {
  int i, j;
  held->count -= 1;
  for (i = which; i < held->count; ++i) {
    for (j = 0; j <= i; ++j) {
      held->product[i][j] = held->product[i + 1][j < which ? j : j + 1];
    }
    held->row[i] = held->row[i + 1];
    held->side[i] = held->side[i + 1];
    held->price[i] = held->price[i + 1];
  }
  factorise(held, which);
}

/* Moves y by least into the limits; 0 where that was not found within the rounds. */
static int nearest(REAL *y, const REAL *low, const REAL *high) {
  held_rows held;
  int rounds = 0, i;
  held.count = 0;
  for (;;) {
    REAL gap = CLOSE, side = 1, price = 0;
    int row = -1, which;
    for (i = 0; i < ROWS; ++i) {
      const REAL value = dot(rows[i], y, UNKNOWNS);
      if (value - high[i] > gap || low[i] - value > gap) {
        side = value > high[i] ? 1 : -1;
        gap = value > high[i] ? value - high[i] : low[i] - value;
        row = i;
      }
    }
    if (row < 0) {
      return 1;
    }
    do {
      REAL falls[UNKNOWNS], way[UNKNOWNS], square, step;
      if (rounds++ >= ROUNDS) {
        return 0;
      }
      direction(&held, row, side, falls, way);
      square = dot(way, way, UNKNOWNS);
      step = square > FLAT ? gap / square : -1;
      which = -1;
      for (i = 0; i < held.count; ++i) {
        if (falls[i] > FLAT && (step < 0 || held.price[i] / falls[i] < step)) {
          step = held.price[i] / falls[i];
          which = i;
        }
      }
      if (step < 0 || (which < 0 && held.count == UNKNOWNS)) {
        return 0;
      }
      price += step;
      for (i = 0; i < held.count; ++i) {
        held.price[i] -= step * falls[i];
      }
      if (square > FLAT) {
        gap -= step * square;
        for (i = 0; i < UNKNOWNS; ++i) {
          y[i] -= step * way[i];
        }
      }
      if (which >= 0) {
        give_up(&held, which);
      }
    } while (which >= 0);
    held.row[held.count] = row;
    held.side[held.count] = side;
    held.price[held.count] = price;
    held.product[held.count][held.count] = 1; /* of a row with itself */
    held.count += 1;
    factorise(&held, held.count - 1);
  }
}
"""
