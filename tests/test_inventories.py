"""Inventories compiled from readable lists."""

import io

import pytest
from inventories import LISTS, compile_list
from sphinx.errors import ConfigError
from sphinx.util.inventory import InventoryFile


def load(text):
    compiled = compile_list(text, "torch", "conf/inventories/torch.txt")
    return InventoryFile.load(
        io.BytesIO(compiled), "https://host", lambda base, uri: f"{base}/{uri}"
    )


def uri(inventory, role, name):
    item = inventory[role][name]
    return item.uri if hasattr(item, "uri") else item[2]


def test_a_line_gives_the_address_of_an_object():
    inventory = load("# a comment\ntorch.dot function\ntorch.Tensor class tensors.html\n\n")
    assert (
        uri(inventory, "py:function", "torch.dot")
        == "https://host/generated/torch.dot.html#torch.dot"
    )
    assert uri(inventory, "py:class", "torch.Tensor") == "https://host/tensors.html#torch.Tensor"


def test_a_module_has_its_own_kind_of_anchor():
    assert uri(load("torch.nn module nn.html"), "py:module", "torch.nn").endswith(
        "nn.html#module-torch.nn"
    )


@pytest.mark.parametrize(
    "line", ["torch.dot", "torch.dot verb", "torch.dot function page.txt", "a b c d"]
)
def test_a_malformed_line_is_named(line):
    with pytest.raises(ConfigError, match=r"torch\.txt:2: .*correct the line"):
        load(f"torch.mm function\n{line}\n")


@pytest.mark.parametrize("file", sorted(LISTS.glob("*.txt")), ids=lambda path: path.name)
def test_our_lists_compile_and_name_nothing_twice(file):
    text = file.read_text()
    compile_list(text, file.stem, file.name)
    names = [line.split()[0] for line in text.splitlines() if line.strip() and line[0] != "#"]
    assert len(names) == len(set(names))


def test_the_same_list_gives_the_same_bytes():
    text = "torch.mm function\ntorch.dot function\n"
    assert compile_list(text, "t", "f") == compile_list(text, "t", "f")
