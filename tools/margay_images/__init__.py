# SPDX-License-Identifier: GPL-2.0-only
"""Images: what margay-build writes, what margay-image-store keeps, and what a node checks. docs/images.md."""
