# SPDX-License-Identifier: GPL-2.0-only
"""Which image a job wants, of the features that it asks for, and which version that is now. The lua at submission has the same
rule: one image, by its name, among other features; none: the site's default."""

import re

from margay_images import store, trust
from margay_images.errors import ImageError

from .errors import ImageFault

# What stands between the names in an expression of features.
BETWEEN = re.compile(r"[&|\[\]()*,\s]+")


def image_of(features, images, default):
    names = [name for name in BETWEEN.split(features) if name in images]
    if len(set(names)) > 1:
        raise ImageFault("the job names %s: one image is a job's" % " and ".join(sorted(set(names))))
    if not names and not default:
        raise ImageFault("the job names no image, and this site has no default: sbatch -C %s" % "|".join(images))
    return names[0] if names else default


class Versions:
    """The newest version of each image that is signed as this site wants it; looked for once."""

    def __init__(self, config):
        self.config, self.found = config, {}

    def newest(self, name):
        if name not in self.found:
            self.found[name] = newest(self.config.store, self.config.keys, name)
        if isinstance(self.found[name], ImageFault):
            raise self.found[name]
        return self.found[name]

    def manifest(self, name, version):
        """Of a version that newest() has found."""
        return store.Store(self.config.store).open().manifest(name, version)[0]


def newest(folder, keys, name):
    """NAME:VERSION, or the ImageFault that says why there is none."""
    try:
        opened = store.Store(folder).open()
        believed = opened.trust(keys or trust.FOLDER)
        versions = opened.versions(name)
        if not versions:
            return ImageFault("%s: the store has no such image" % name)
        last = None
        for version in reversed(versions):
            try:
                _, data, signature = opened.manifest(name, version)
                believed.require(data, signature, "%s:%s" % (name, version))
                return "%s:%s" % (name, version)
            except (ImageError, OSError) as error:
                last = last or ImageFault(str(error))
        return last
    except (ImageError, OSError) as error:
        return ImageFault(str(error))
