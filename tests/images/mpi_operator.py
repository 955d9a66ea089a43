"""The MPI Operator as it was released, out of its Go module: what the tests of the switch from it and back run.

In: mpi-operator/go.mod and go.sum, which pin it. Out: the file tree of its image, and its published manifests.
"""

import os
import shutil
import subprocess
from pathlib import Path

import store
from command import run
from progress import step

HERE = Path(__file__).parent
MODULE_FOLDER = HERE / "mpi-operator"
MODULE = "github.com/kubeflow/mpi-operator"
IMAGE = "mpioperator/mpi-operator:0.8.2"
"""As its manifests name it."""


def place():
    return store.folder("mpi-operator", [HERE / "mpi_operator.py", MODULE_FOLDER / "go.mod", MODULE_FOLDER / "go.sum"])


def make_tree(target):
    """/opt/mpi-operator, where its own image has it."""
    with step("mpi-operator: compiling the MPI Operator 0.8.2"):
        (target / "opt").mkdir(parents=True)
        # Without symbols: 66 MB in place of 95.
        run("go", "-C", MODULE_FOLDER, "build", "-trimpath", "-ldflags", "-s -w", "-o", target / "opt/mpi-operator",
            f"{MODULE}/cmd/mpi-operator", env={**os.environ, "CGO_ENABLED": "0"})


def copy_manifests(target):
    """CRD, roles and Deployment, as published."""
    listed = ["go", "-C", str(MODULE_FOLDER), "list", "-m", "-f", "{{.Dir}}", MODULE]
    module = Path(subprocess.run(listed, check=True, capture_output=True, text=True).stdout.strip())
    shutil.copyfile(module / "deploy/v2beta1/mpi-operator.yaml", target)
