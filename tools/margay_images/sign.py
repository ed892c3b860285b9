# SPDX-License-Identifier: GPL-2.0-only
"""Signs what lies in a store: a version's manifest, and the lists of keys that let one key follow another."""

import os
import time

from . import canonical, durable, faults, manifest, minisign, push, trust
from .errors import ImageError


def is_known(store, name, version, keys):
    """Was it signed by a key that was never revoked? Then its content is what somebody meant, if it expired or not."""
    _, data, signature = store.manifest(name, version)
    if signature is None:
        return False
    state, _ = store.trust(keys).judge(data, signature, name)
    return state in ("good", "expired")


def sign_image(store, name, version, key, keys, directory=None):
    """Signs one version. Who signs must know what: it is of this image directory, or signed by a key that counts."""
    value, data, _ = store.manifest(name, version)
    if directory:
        if manifest.without_indexes(value) != manifest.of_directory(directory):
            raise ImageError("%s:%s is not the image of %s: not signed" % (name, version, directory))
    elif not is_known(store, name, version, keys):
        raise ImageError("%s:%s has no signature that counts, so nothing says what it is: give its image directory by --image" %
                         (name, version))
    # It may ask for a password: the store is not locked meanwhile.
    signature = minisign.sign(data, key, push.comment(value, int(time.time())))
    with store.writing() as folder, store.lock():
        if store.manifest(name, version)[1] != data:
            raise ImageError("%s:%s changed while it was signed" % (name, version))
        durable.replace(store.path("images", name, version, manifest.NAME + minisign.SUFFIX), signature, folder)


def next_list(believed, add, revoke, expire):
    """The object of the next list. add: {id: public}, revoke: ids, expire: {id: seconds}."""
    keys = {of: {"id": of, "public": key["public"], "until": key["until"]} for of, key in believed.keys.items()}
    for of, public in add.items():
        if of in believed.revoked or of in revoke:
            raise ImageError("key %s is revoked, and stays so" % of)
        keys.setdefault(of, {"id": of, "public": public, "until": None})
    for of, seconds in expire.items():
        if of not in keys:
            raise ImageError("key %s does not count, so it cannot expire" % of)
        keys[of]["until"] = seconds
    for of in revoke:
        keys.pop(of, None)
    now = time.time()
    if not any(key["until"] is None or key["until"] > now for key in keys.values()):
        raise ImageError("no key would count any more: add one first")
    return {"kind": trust.KIND, "format": trust.FORMAT, "serial": believed.serial + 1,
            "keys": [keys[of] for of in sorted(keys)], "revoked": sorted(believed.revoked | set(revoke))}


def sign_keys(store, key, keys, add, revoke, expire):
    """Makes the next list and signs it by the secret key in a file; who follows it sees the result, which is returned."""
    store.create()
    believed = store.trust(keys)
    value = next_list(believed, add, revoke, expire)
    data = canonical.write(value)
    signature = minisign.sign(data, key, "margay keys %d signed %d" % (value["serial"], time.time()))
    # As everybody else will read it: a wrong key is seen here, not by all nodes.
    after = believed.follow(data, signature, "list of keys %d" % value["serial"])
    with store.writing() as folder, store.lock():
        if store.trust(keys).serial != believed.serial:
            raise ImageError("somebody else has made list of keys %d meanwhile: look at it, and try again" % value["serial"])
        made = os.path.join(folder, "keys")
        durable.new_folder(made)
        durable.write(os.path.join(made, trust.FILE), data)
        durable.write(os.path.join(made, trust.FILE + minisign.SUFFIX), signature)
        durable.sync_folder(made)
        durable.make_folder(store.path("keys"))
        os.rename(made, store.path("keys", str(value["serial"])))
        durable.sync_folder(store.path("keys"))
        faults.reach("published-keys")
    return after
