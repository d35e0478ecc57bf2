"""Builds the package: the compiled part against the library in $ACEMQ_BUILD (build/ of the checkout), and a copy of
that library beside it."""

import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
BUILD = pathlib.Path(os.environ.get("ACEMQ_BUILD", HERE.parent.parent / "build"))
SCRATCH = BUILD / "python"
SCRATCH.mkdir(parents=True, exist_ok=True)


def soname():
    return next(path.name for path in (BUILD / "lib").glob("libacemq.so.*") if path.name.count(".") == 2)


class WithLibrary(build_py):
    """The library lies in the package, under the name by which the compiled part asks for it."""

    def run(self):
        super().run()
        if not self.editable_mode:
            folder = pathlib.Path(self.build_lib) / "acemq"
            folder.mkdir(parents=True, exist_ok=True)
            made = folder / (soname() + ".new")
            shutil.copyfile(BUILD / "lib" / soname(), made)
            if "ACEMQ_STRIP" in os.environ:
                subprocess.run(["strip", "--strip-unneeded", made], check=True)
            made.replace(folder / soname())  # a program that has the old one loaded keeps it


setup(
    packages=["acemq"],
    package_dir={"": "src"},
    package_data={"acemq": ["py.typed", "*.pyi"]},
    cffi_modules=["build_native.py:ffibuilder"],
    cmdclass={"build_py": WithLibrary},
    options={"bdist_wheel": {"py_limited_api": "cp39"}, "egg_info": {"egg_base": str(SCRATCH)}},
    zip_safe=False,
)
