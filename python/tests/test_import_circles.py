"""The files of a crate, and the modules of the Python package, import one another in one direction only.

Files in a circle are one file in pieces: none of them can be read, tested or moved without the others. In Rust a file
imports the file that defines what it names; `pub use` on the way does not count, since it only hands a name on. A file
that calls a method which another file adds to its type (`impl Net` in `failures.rs`) imports that file, too. What a
build script lists is all files of a folder: the file with `include!` imports them. In Python every import counts, those
inside functions included; those for type annotations alone do not. Tests are left out.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.form
Graph = dict[str, set[str]]


def circles(graph: Graph) -> list[list[str]]:
    """Every set of two files or more of which each reaches each other (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for below in sorted(graph.get(node, ())):
            if below not in index:
                visit(below)
                low[node] = min(low[node], low[below])
            elif below in stack:
                low[node] = min(low[node], index[below])
        if low[node] == index[node]:
            joined = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(joined) > 1:
                found.append(sorted(joined))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def explained(graph: Graph) -> str:
    """The circles, with who imports whom."""
    lines = []
    for joined in circles(graph):
        lines.append("these files import one another:")
        lines += [f"  {file} imports {', '.join(sorted(graph[file] & set(joined)))}" for file in joined]
    return "\n".join(lines)


# Rust


# A comment, a string or a character: what looks like code in them is none. A lifetime is left alone.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']*|[^'\\])'""",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"#!?\[")
CLOSING = {"(": ")", "[": "]", "{": "}"}


def end_of_group(text: str, start: int) -> int:
    """The position behind the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] in CLOSING:
            depth += 1
        elif text[at] in CLOSING.values():
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)


def end_of_item(text: str, start: int) -> int:
    """The position behind the item that begins at `start`: at its semicolon, or behind its braces."""
    at = start
    while at < len(text):
        if text[at] in "([":
            at = end_of_group(text, at)
        elif text[at] == "{":
            at = end_of_group(text, at)
            # `use a::{b, c};`
            return at + 1 if text[at : at + 1] == ";" else at
        elif text[at] in ";,":
            return at + 1
        else:
            at += 1
    return at


def code_of(text: str) -> str:
    """The source without comments, strings, attributes, visibilities and items for tests only."""
    text = NO_CODE.sub(" ", text)
    at = 0
    while found := ATTRIBUTE.search(text, at):
        end = end_of_group(text, found.end() - 1)
        if re.match(r"#\[\s*cfg\(\s*(all\(\s*)?test\b", found.group() + text[found.end() : end]):
            end = end_of_item(text, end)
        text = text[: found.start()] + " " + text[end:]
        at = found.start()
    return re.sub(r"\bpub\s*\([^)]*\)", "pub", text)


def tree_of_use(text: str, before: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each (name, path) of what stands behind `use`; the name of a glob is `*`."""
    parts: list[str] = []
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    for part in filter(None, (p.strip() for p in parts)):
        head, brace, inner = part.partition("{")
        names = tuple(n.strip() for n in re.split(r"\s+as\s+", head)[0].split("::") if n.strip())
        if brace:
            yield from tree_of_use(inner[: inner.rindex("}")], before + names)
            continue
        path = before + names
        renamed = re.search(r"\sas\s+(\w+)", head)
        if path and path[-1] == "self":
            path = path[:-1]
        if path:
            yield (renamed.group(1) if renamed else path[-1]), path


INCLUDE = re.compile(r"\binclude!\s*\(")
MODULE = re.compile(r"\bmod\s+(\w+)\s*([;{])")
USE = re.compile(r"\b(pub\s+)?use\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])((?:crate|super|self|\w+)(?:\s*::\s*\w+)+)")
DEFINED = re.compile(r"\b(?:struct|enum|union|trait|type|const|static|fn)\s+(?:mut\s+)?(\w+)|macro_rules!\s*(\w+)")

Name = tuple[str, ...]


class Crate:
    """The modules of one crate: which file each stands in, what it defines and which names it brings into itself."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.file: dict[Name, str] = {}
        self.code: dict[Name, str] = {}
        self.defined: dict[Name, set[str]] = {}
        self.used: dict[Name, dict[str, Name]] = {}
        self.globs: dict[Name, list[Name]] = {}
        for root in ("lib.rs", "main.rs"):
            if (source / root).exists():
                self.read((), source / root, source)
                break

    def read(self, module: Name, path: Path, folder: Path) -> None:
        self.enter(module, code_of(path.read_text()), str(path.relative_to(ROOT)), folder)

    def enter(self, module: Name, code: str, file: str, folder: Path) -> None:
        if found := INCLUDE.search(code):
            stems = sorted(path.stem for path in folder.glob("*.rs") if path.name != "mod.rs")
            listed = " ".join(f"mod {stem}; use self::{stem};" for stem in stems)
            code = code[: found.start()] + listed + code[end_of_group(code, found.end() - 1) :]
        at = 0
        while found := MODULE.search(code, at):
            child, begin = (*module, found.group(1)), found.start()
            if found.group(2) == "{":
                end = end_of_group(code, found.end() - 1)
                self.enter(child, code[found.end() : end - 1], file, folder / child[-1])
                code = code[:begin] + code[end:]
            else:
                for path in (folder / f"{child[-1]}.rs", folder / child[-1] / "mod.rs"):
                    if path.exists():
                        self.read(child, path, folder / child[-1])
                code = code[:begin] + code[found.end() :]
            at = begin
        self.file[module], self.code[module] = file, code
        self.defined[module] = {a or b for a, b in DEFINED.findall(code)}
        self.used[module], self.globs[module] = {}, []
        for _, tree in USE.findall(code):
            for name, path in tree_of_use(tree):
                if name == "*":
                    self.globs[module].append(path[:-1])
                else:
                    self.used[module][name] = path

    def absolute(self, module: Name, path: Name, globs: bool = True) -> Name | None:
        """`path` as written in `module`, from the root of the crate; `None` if it leads out of the crate."""
        if path[0] == "crate":
            return path[1:]
        if path[0] == "self":
            return module + path[1:]
        if path[0] == "super":
            ups = next((i for i, part in enumerate(path) if part != "super"), len(path))
            return module[: len(module) - ups] + path[ups:]
        if (*module, path[0]) in self.file or path[0] in self.defined[module]:
            return module + path
        if path[0] in self.used[module] and self.used[module][path[0]][0] != path[0]:
            brought = self.absolute(module, self.used[module][path[0]], globs)
            return None if brought is None else brought + path[1:]
        for glob in self.globs[module] if globs else ():
            base = self.absolute(module, glob, globs=False)
            if base is not None and path[0] in self.defined.get(base, ()):
                return base + path
        return None

    def home(self, path: Name, seen: frozenset[Name] = frozenset()) -> Name | None:
        """The module that defines what `path` names, re-exports followed; `None` if that is not in this crate."""
        if path in seen:
            return None
        seen |= {path}
        module: Name = ()
        for length, part in enumerate(path):
            if (*module, part) in self.file:
                module = (*module, part)
                continue
            if part in self.defined[module]:
                return module
            rest = path[length + 1 :]
            if part in self.used[module]:
                target = self.absolute(module, self.used[module][part])
                return None if target is None else self.home(target + rest, seen)
            for glob in self.globs[module]:
                base = self.absolute(module, glob)
                if base is not None and (found := self.home((*base, part, *rest), seen)) is not None:
                    return found
            return None
        return module if path else ()

    def graph(self) -> Graph:
        graph: Graph = {file: set() for file in self.file.values()}
        for module, code in self.code.items():
            here = self.file[module]
            rest = USE.sub(" ", code)
            words = set(re.findall(r"\w+", rest))
            paths = [tuple(re.split(r"\s*::\s*", found)) for found in PATH.findall(rest)]
            # A name that is only handed on is not used here.
            handed_on = {name for public, tree in USE.findall(code) if public for name, _ in tree_of_use(tree)}
            paths += [path for name, path in self.used[module].items() if name in words or name not in handed_on]
            for path in paths:
                target = self.absolute(module, path)
                home = None if target is None else self.home(target)
                if home is not None:
                    graph[here].add(self.file[home])
            for owner, methods in self.methods_added(module, code):
                called = {name for name, text in self.code.items() if self.file[name] == owner and calls(text, methods)}
                if called:
                    graph[owner].add(here)
        for file, below in graph.items():
            below.discard(file)
        return graph

    def methods_added(self, module: Name, code: str) -> Iterator[tuple[str, set[str]]]:
        """The file of each type for which `module` has an `impl` without a trait, and the functions in that."""
        for found in IMPL.finditer(code):
            head = found.group(1)
            if re.search(r"\bfor\b(?!\s*<)", head):
                continue
            name = re.match(r"\s*([\w:]+)", without_generics(head))
            target = None if name is None else self.absolute(module, tuple(name.group(1).split("::")))
            home = None if target is None else self.home(target)
            if home is not None:
                body = code[found.end() - 1 : end_of_group(code, found.end() - 1)]
                yield self.file[home], set(re.findall(r"\bfn\s+(\w+)", body))


IMPL = re.compile(r"(?:^|[\s}])impl\b([^;{]*)\{")


def without_generics(head: str) -> str:
    """What follows the parameters of an `impl<...>`."""
    head = head.lstrip()
    if not head.startswith("<"):
        return head
    depth = 0
    for at, character in enumerate(head):
        depth += (character == "<") - (character == ">" and head[at - 1] not in "-=")
        if depth == 0:
            return head[at + 1 :]
    return ""


def calls(code: str, functions: set[str]) -> bool:
    return not functions.isdisjoint(re.findall(r"(?:\.|\bSelf::)(\w+)\s*(?:::\s*<[^(]*>\s*)?\(", code))


def crates() -> Iterable[Path]:
    return sorted([*ROOT.glob("crates/*/src"), ROOT / "dataplane/linux/src", ROOT / "dataplane/dpdk/src"])


@pytest.mark.parametrize("source", crates(), ids=lambda source: source.parent.name)
def test_no_files_of_a_crate_import_one_another(source: Path):
    assert explained(Crate(source).graph()) == ""


# Python


def imports_of(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """The package's own modules that `path` imports: anywhere in the file, in functions too, unless for types only."""
    package = ".".join(path.relative_to(ROOT / "python").parent.parts)
    tree = ast.parse(path.read_text())
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in modules)
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*up, *filter(None, [node.module])])
            for name in node.names:
                inner = f"{base}.{name.name}"
                if inner in modules:
                    yield inner
                elif base in modules:
                    yield base


def python_graph() -> Graph:
    modules = {}
    sources = (path for name in ("pifolab", "pifolab_papers") for path in (ROOT / "python" / name).rglob("*.py"))
    # The compiled module has a stub alone.
    for path in sorted([*sources, ROOT / "python/pifolab/_pifolab.pyi"]):
        parts = path.relative_to(ROOT / "python").with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: set(imports_of(path, modules)) - {name} for name, path in modules.items()}


def test_no_modules_of_the_python_packages_import_one_another():
    assert explained(python_graph()) == ""


def test_only_the_command_line_imports_the_papers():
    users = {name for name, used in python_graph().items() if any(one.startswith("pifolab_papers") for one in used)}
    assert {name for name in users if not name.startswith("pifolab_papers")} == {
        "pifolab.cli.completion",
        "pifolab.cli.reproduce",
        "pifolab.cli.study",
    }


# The test itself


def test_a_circle_is_found_through_reexports_and_through_methods_that_another_file_adds(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    source = tmp_path / "src"
    source.mkdir()
    files = {
        "lib.rs": "mod a; mod b; mod c; mod d; pub use a::One; pub use b::{Two, Three};",
        # `crate::Two` is handed on by lib.rs and defined in b.rs, which uses what a.rs defines.
        "a.rs": "use crate::Two; pub struct One(Two); // crate::d::nothing",
        "b.rs": "pub struct Two; pub struct Three; impl Two { fn one() -> super::One { todo!() } }",
        # d.rs adds a method to a type of c.rs, which calls it.
        "c.rs": "pub struct Four; impl Four { fn call(&self) { self.added() } }",
        "d.rs": "use crate::c::Four; impl Four { pub fn added(&self) {} } #[cfg(test)] mod t { use crate::a::One; }",
    }
    for name, text in files.items():
        (source / name).write_text(text)
    graph = Crate(source).graph()
    assert circles(graph) == [["src/a.rs", "src/b.rs"], ["src/c.rs", "src/d.rs"]]
    assert graph["src/d.rs"] == {"src/c.rs"}
    (source / "b.rs").write_text("pub struct Two; pub struct Three;")
    (source / "c.rs").write_text("pub struct Four; impl Four { fn call(&self) {} }")
    assert circles(Crate(source).graph()) == []


def test_files_that_a_build_script_lists_are_read(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    source = tmp_path / "src"
    (source / "listed").mkdir(parents=True)
    (source / "lib.rs").write_text("mod listed;")
    (source / "listed/mod.rs").write_text('include!(concat!(env!("OUT_DIR"), "/listed.rs")); pub struct One;')
    (source / "listed/a.rs").write_text("use super::One; pub struct Two(One);")
    assert circles(Crate(source).graph()) == [["src/listed/a.rs", "src/listed/mod.rs"]]
