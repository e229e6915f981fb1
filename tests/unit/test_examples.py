#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples for cloud-init and Kubernetes: types and names of fields, the configurations in them, and the commands."""
import glob
import os
import re
import subprocess
import tempfile
import unittest

import kubernetes.client
import yaml

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../conf/examples")
OPERATIONS = os.path.join(EXAMPLES, "../../docs/operations.md")
PLAIN = {"str": str, "int": int, "bool": bool, "object": object}


def read(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def typed(place, value, kind):
    """A value as the client of Kubernetes has it; raises ValueError if it is none of that kind."""
    if kind.startswith("list["):
        return [typed(f"{place}[{i}]", element, kind[5:-1]) for i, element in enumerate(value)]
    if kind.startswith("dict("):
        return {name: typed(f"{place}.{name}", member, kind[5:-1].split(", ")[1]) for name, member in value.items()}
    if kind in PLAIN:
        if not isinstance(value, PLAIN[kind]):
            raise ValueError(f"{place}: {value!r} is no {kind}")
        return value
    model = getattr(kubernetes.client, kind)
    names = {json: name for name, json in model.attribute_map.items()}
    for name in value:
        if name not in names:
            raise ValueError(f"{place}: {kind} has no {name}")
    return model(**{names[name]: typed(f"{place}.{name}", member, model.openapi_types[names[name]])
                    for name, member in value.items()})


def manifest(document):
    return typed(document["kind"], document, "V1" + document["kind"])


def check(test, files):
    """culvertd accepts culvert.conf beside the other files, with devices of any machine."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            numbers = iter(range(9))
            text = re.sub(r'device = "[^"]*"', lambda _: f'device = "net_tap{next(numbers)}"', text)
            with open(os.path.join(folder, name), "w", encoding="utf-8", opener=lambda *a: os.open(*a, 0o600)) as file:
                file.write(text.replace('user = "culvert";', ""))
        said = subprocess.run([os.environ["CULVERTD"], "-t", "-c", f"{folder}/culvert.conf"], check=False,
                              capture_output=True, text=True)
    test.assertEqual(said.returncode, 0, said.stderr)


class Kubernetes(unittest.TestCase):
    def setUp(self):
        self.documents = [document for path in glob.glob(f"{EXAMPLES}/kubernetes/*.yaml") for document in read(path)]
        self.by_kind = {document["kind"]: document for document in self.documents}

    def pods(self):
        return [manifest(self.by_kind[kind]).spec.template.spec for kind in ("DaemonSet", "Job")]

    def test_fields(self):
        self.assertEqual(sorted(self.by_kind), ["DaemonSet", "Job", "Namespace", "Secret"])
        for document in self.documents:
            manifest(document)

    def test_mistakes_are_found(self):
        for change in ({"hostNetwork": "yes"}, {"hostnetwork": True}, {"containers": None}):
            pod = dict(self.by_kind["DaemonSet"]["spec"]["template"]["spec"]) | change
            with self.assertRaises((ValueError, TypeError)):
                typed("pod", {name: member for name, member in pod.items() if member is not None}, "V1PodSpec")

    def test_configuration(self):
        check(self, self.by_kind["Secret"]["stringData"])

    def test_names(self):
        """Volumes, labels and the secret are those that are there."""
        daemons = manifest(self.by_kind["DaemonSet"])
        self.assertEqual(daemons.spec.selector.match_labels, daemons.spec.template.metadata.labels)
        for pod in self.pods():
            self.assertEqual({mount.name for mount in pod.containers[0].volume_mounts}, {v.name for v in pod.volumes})
            self.assertEqual(pod.node_selector, self.pods()[0].node_selector)
            self.assertIn(self.by_kind["Secret"]["metadata"]["name"], [v.secret.secret_name for v in pod.volumes if v.secret])
        self.assertEqual({document["metadata"].get("namespace", "culvert") for document in self.documents}, {"culvert"})

    def test_options_of_the_container(self):
        """Capabilities and folders are those of the container of docs/operations.md, which nightly `container` tries."""
        with open(OPERATIONS, encoding="utf-8") as file:
            command = re.search(r"(?ms)^podman run --name.*?^```", file.read())[0]
        container = self.pods()[0].containers[0]
        self.assertEqual(container.security_context.capabilities.add,
                         re.search(r"--cap-add=(\S+)", command)[1].split(","))
        self.assertEqual({mount.mount_path for mount in container.volume_mounts}, set(re.findall(r"-v [^:]+:([^: ]+)", command)))

    def test_probes(self):
        """culvertctl knows the commands: without a daemon they fail, but not as usage errors."""
        container = self.pods()[0].containers[0]
        for probe in (container.startup_probe, container.liveness_probe, container.readiness_probe):
            self.assertEqual(probe._exec.command[0], "culvertctl")
            said = subprocess.run([os.environ["CULVERTCTL"], "-i", "nosuch", *probe._exec.command[1:]], check=False,
                                  capture_output=True)
            self.assertEqual(said.returncode, 1, said.stderr)


class CloudInit(unittest.TestCase):
    def test_configuration(self):
        files = {os.path.basename(file["path"]): file["content"] for file in read("cloud-init.yaml")[0]["write_files"][:1]}
        for line in read("cloud-init.yaml")[0]["runcmd"]:
            if line.startswith("culvertctl keygen"):
                files[os.path.basename(line.split()[2])] = f'key = "{os.urandom(36).hex()}";'
        check(self, files)

    def test_commands(self):
        """sh accepts them, one after the other, as cloud-init has it."""
        subprocess.run(["sh", "-n"], input="\n".join(read("cloud-init.yaml")[0]["runcmd"]), text=True, check=True)


if __name__ == "__main__":
    unittest.main()
