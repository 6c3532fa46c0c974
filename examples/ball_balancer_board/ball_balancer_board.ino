// A ball balancer on a board that is programmed like an Arduino: `rolling export lqr` beside it.
//
// Frames come over the serial port, a line each: where the ball is and where it shall go, "x y
// goal_x goal_y" [m], with nan for a ball that is not seen. Each is answered at once. A frame that
// does not come counts as one without a ball, so that the plate is level soon after the last one.

#include <Servo.h>
#include <math.h>
#include <stdlib.h>

#include "lqr.h"

static const int PINS[2] = {9, 10};
static const int MIDDLE[2] = {1500, 1500};  // us of pulse with which the plate is level
static const double PULSE = 2.0;            // us of pulse for each count: servo.count of the scenario
static const unsigned long PERIOD = 34, LATE = 17;  // ms between frames, and what they may be late

static lqr_state state;
static Servo servos[2];
static char line[96];
static size_t length;
static unsigned long newest;

static void answer(const double frame[4]) {
  const LQR_REAL place[2] = {(LQR_REAL)frame[0], (LQR_REAL)frame[1]};
  const LQR_REAL goal[2] = {(LQR_REAL)frame[2], (LQR_REAL)frame[3]};
  LQR_REAL counts[2];
  lqr_step(&state, place, goal, counts);
  for (int k = 0; k < 2; ++k) {
    servos[k].writeMicroseconds(MIDDLE[k] + (int)lround(PULSE * (double)counts[k]));
  }
}

// Four numbers; what cannot be read is none.
static void read_frame(double frame[4]) {
  const char *at = line;
  for (int k = 0; k < 4; ++k) {
    char *end;
    frame[k] = strtod(at, &end);
    if (end == at) {
      frame[k] = NAN;
    }
    at = end;
  }
}

void setup() {
  Serial.begin(115200);
  for (int k = 0; k < 2; ++k) {
    servos[k].attach(PINS[k]);
  }
  lqr_start(&state);
}

void loop() {
  static double frame[4] = {NAN, NAN, 0.0, 0.0};
  while (Serial.available() > 0) {
    const char letter = (char)Serial.read();
    if (letter != '\n') {
      line[length] = letter;
      length += length < sizeof line - 1 ? 1 : 0;
      continue;
    }
    line[length < sizeof line - 1 ? length : 0] = '\0';  // nothing of a line that is too long
    length = 0;
    read_frame(frame);
    newest = millis();
    answer(frame);
  }
  if (millis() - newest > PERIOD + LATE) {
    newest += PERIOD;
    frame[0] = frame[1] = NAN;
    answer(frame);
  }
}
