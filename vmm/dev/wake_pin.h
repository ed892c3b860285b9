/* SPDX-License-Identifier: GPL-2.0-only */
/* The pin that wakes a guest from suspend-to-idle (wake_pin.c). */
#ifndef VMM_DEV_WAKE_PIN_H
#define VMM_DEV_WAKE_PIN_H

struct vm;

/* A pulse, of which a guest that has not set the pin up hears nothing. From any CPU; the caller sees to it that the VM stays. */
void wake_pin_pulse(struct vm *vm);

#endif
