# SPDX-License-Identifier: GPL-2.0-only
"""How the flags of /proc/cpuinfo in a guest may differ from the bare machine's.

Written by hand from the CPUID policy's reasons, and independent of its code:
a bit that the code hides without its standing here fails the test.
"""

# Never shown to a guest.
HIDDEN = {
    "no nested virtualization": "vmx svm npt vgif svm_lock nrip_save tsc_scale vmcb_clean flushbyasid decodeassists "
    "pausefilter pfthreshold avic v_vmsave_vmload vnmi v_spec_ctrl svme_addr_chk "
    "tpr_shadow vnmi flexpriority ept vpid ept_ad",
    "without direct interrupts an idle guest leaves its CPU to the monitor": "monitor mwaitx",
    "debug store: writes to host memory": "dtes64 ds_cpl dts pebs bts",
    "performance monitoring is not virtualized": "pdcm arch_perfmon perfctr_core perfctr_nb perfctr_l2 perfctr_llc "
    "perfmon_v2 aperfmperf amd_lbr_v2 ibs",
    "power, frequency and heat are the host's": "acpi tm tm2 pbe est ida dtherm pln pts epb hwp hwp_notify "
    "hwp_act_window hwp_epp hwp_pkg_req hdc hfi cpb hw_pstate cppc",
    "firmware's and chip set's": "smx cid sdbg xtpr dca pn skinit wdt osvw",
    "memory that is not given to guests": "sgx sgx_lc sev sev_es sme",
    "divided by the host": "cqm rdt_a cat_l3 cat_l2 cdp_l3 mba cqm_llc cqm_occup_llc cqm_mbm_total cqm_mbm_local",
    "state that is not switched": "mpx intel_pt shstk user_shstk ibt uintr pks lam arch_lbr xsaves",
    "stage 2 has four levels": "la57",
}

# Shown whatever the machine has.
ADDED = {
    "this is a virtual machine": "hypervisor",
    "the virtual local APIC has it": "x2apic tsc_deadline_timer arat",
    "the hypervisor tells the rate": "tsc_known_freq",
}

# Where the emulator's bare machine is poorer than the CPU it claims to be.
ADDED_ON = {
    "bochs": {
        "Bochs has no IA32_MISC_ENABLE, whose fast-strings bit Linux wants to see for these": "erms rep_good",
    },
}


def words(table):
    return {flag for flags in table.values() for flag in flags.split()}


def expected(native, machine):
    """The flags a guest must have on a machine that natively has these."""
    return (set(native) - words(HIDDEN)) | words(ADDED) | words(ADDED_ON.get(machine, {}))
