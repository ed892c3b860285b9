# SPDX-License-Identifier: GPL-2.0-only
"""The words of `mitigate=` that can be forced, by machine, and Bochs' model that has the registers for them."""

# Of Bochs' models one with the registers: IA32_SPEC_CTRL, PRED_CMD, FLUSH_CMD.
MODEL = "cpu: model=tigerlake, count=%d, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=0"
ANYWHERE = ("rsb_one", "rsb", "bhb", "thunks", "divider", "verw", "split")
WORDS = [("qemu", word) for word in ANYWHERE] + [("bochs", word) for word in ANYWHERE + ("spec_ctrl", "ibpb_exit", "l1d_flush")]
