# SPDX-License-Identifier: GPL-2.0-only
#
# The benchmarks.

# bench, or one part of it. BENCH= passes further options, NPB= names a clone of the NAS Parallel Benchmarks.
BENCHES := bench bench-exits bench-exits-vtx bench-exits-kvm bench-ipi bench-rates bench-noise bench-boot bench-workloads
BENCHES += bench-mitigations bench-mitigations-vtx bench-rates-vtx bench-hpcc bench-memory bench-walk bench-dma
BENCHES += bench-devices bench-direct bench-npb bench-net
.PHONY: $(BENCHES)
bench bench-noise: guest-rt
$(BENCHES): all $(GUEST) $(TINY) $(G)/initrd-drivers
	@$(PYTHON) tests/bench/bench.py $(if $(filter bench-%,$@),--parts $(@:bench-%=%)) $(if $(NPB),--npb '$(NPB)') $(BENCH)

# What a byte of an image costs who pulls it (docs/images.md); BENCH='--functions 20': by function.
.PHONY: bench-images
bench-images: build/margay
	@$(PYTHON) tests/bench/image_instructions.py $(BENCH)

# Slurm's times, in namespaces, with a model of the node.
.PHONY: bench-cluster
bench-cluster:
	@$(PYTHON) tests/bench/cluster.py $(BENCH)
