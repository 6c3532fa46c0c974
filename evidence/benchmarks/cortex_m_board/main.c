/*
 * Runs a law on an emulated board, frame by frame, and writes what came of each to the host:
 * ticks of the board's timer, then the outputs as doubles. The last number is the stack used.
 */
#include <stdint.h>

#include LAW_HEADER
#include "frames.h" /* REAL, FRAMES, OUTPUTS, INPUTS, STEP, START, STATE, frames, LOOPS */

#define TIMER ((volatile uint32_t *)0x40000000) /* control, value, reload; it counts down */
#define ACCESS (*(volatile uint32_t *)0xE000ED88)
#define PAINT 0xA5A5A5A5u
#define PAINTED 4096 /* words below the pointer */

extern uint32_t stack_top;
static STATE state;
static struct {
  double ticks, output[OUTPUTS];
} results[FRAMES];
static double summary[2]; /* ticks of a loop of known length, bytes of stack */

static int host(int call, const void *argument) {
  register int r0 __asm__("r0") = call;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static void tell(const void *bytes, uint32_t count) {
  static const char name[] = ":tt";
  const uintptr_t opened[3] = {(uintptr_t)name, 5 /* wb: standard output */, 3};
  uintptr_t written[3];
  written[0] = (uintptr_t)host(1, opened);
  written[1] = (uintptr_t)bytes;
  written[2] = count;
  host(5, written);
}

static uint32_t passed(uint32_t since) { return since - TIMER[1]; }

/* Two instructions a round. */
static void loop(uint32_t rounds) {
  __asm__ volatile("1: subs %0, #1\n bne 1b" : "+r"(rounds) : : "cc");
}

/* Fills what is below the stack; returns the lowest word of that. */
static volatile uint32_t *paint(void) {
  volatile uint32_t *top, *low;
  __asm__ volatile("mov %0, sp" : "=r"(top));
  for (low = top - PAINTED; low < top; ++low) {
    *low = PAINT;
  }
  return top - PAINTED;
}

/* Returns how many bytes of it were used since. */
static uint32_t deepest(const volatile uint32_t *low) {
  uint32_t unused = 0;
  while (low[unused] == PAINT) {
    ++unused;
  }
  return 4 * (PAINTED - unused);
}

static __attribute__((noinline)) void step(int k) {
  REAL output[OUTPUTS];
  uint32_t since;
  int j;
  since = TIMER[1];
  STEP(&state, frames[k], frames[k] + 2, output);
  results[k].ticks = passed(since);
  for (j = 0; j < OUTPUTS; ++j) {
    results[k].output[j] = (double)output[j];
  }
}

static void run(void) {
  const volatile uint32_t *painted;
  uint32_t since;
  int k;
  TIMER[2] = 0xFFFFFFFFu;
  TIMER[1] = 0xFFFFFFFFu;
  TIMER[0] = 1; /* on */
  since = TIMER[1];
  loop(LOOPS);
  summary[0] = passed(since);
  START(&state);
  painted = paint();
  for (k = 0; k < FRAMES; ++k) {
    step(k);
  }
  summary[1] = deepest(painted);
  tell(results, sizeof results);
  tell(summary, sizeof summary);
  host(0x18, (const void *)0x20026); /* the application has ended */
}

void begin(void) {
  ACCESS |= 0xFu << 20; /* the floating-point unit */
  __asm__ volatile("dsb\n isb");
  run();
  for (;;) {
  }
}

static void fault(void) {
  host(0x18, (const void *)0x20023); /* a run-time error */
  for (;;) {
  }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, begin, fault, fault, fault, fault, fault};
