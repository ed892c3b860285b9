# SPDX-License-Identifier: GPL-2.0-only
"""A timer for who looks, when it comes, at what is due by then: it may come too early, and never comes too late. To set one anew
for each thing that is due would cost more.
"""


class Alarm:
    def __init__(self, loop, look):
        self.loop, self.look, self.timer = loop, look, None

    def by(self, when):
        """look() is called at that time, or before."""
        if self.timer is None or self.timer.when() > when:
            self.cancel()
            self.timer = self.loop.call_at(when, self.rings)

    def rings(self):
        self.timer = None
        self.look()

    def cancel(self):
        if self.timer:
            self.timer.cancel()
            self.timer = None
