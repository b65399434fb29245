"""The reading order of the site: every section and every lesson, once.

Page addresses carry no numbers, so that a lesson inserted here moves no link. To add a
lesson, write ``examples/<section>/<lesson>.py`` and name it in this list.
"""

from pathlib import Path

from sphinx.errors import ConfigError

SECTIONS = {
    "first_gradients": ["first_gradient", "before_and_after_backward"],
    "accumulation": ["backward_adds", "why_it_adds", "clearing_gradients"],
    "recorded_graph": [
        "read_the_picture",
        "step_through_backward",
        "leaf_or_not",
        "three_gradients_of_one_x",
        "used_up_graph",
        "a_new_graph_each_time",
    ],
    "more_than_one_output": ["why_a_scalar", "backward_with_weights"],
    "stopping": ["detach_is_a_constant", "five_ways_to_stop", "why_is_it_none"],
    "in_place": [
        "version_counter",
        "updating_a_leaf",
        "views_and_in_place",
        "silently_wrong",
    ],
    "kinks": [
        "slopes_from_both_sides",
        "clamp_against_relu",
        "kink_table",
        "ties",
        "same_function_other_gradient",
        "nan_hunt",
        "gradcheck_blind_spot",
    ],
    "problems": [
        "backward_twice",
        "modified_in_place",
        "leaf_in_place",
        "view_modified_in_place",
        "backward_needs_a_scalar",
        "nothing_requires_grad",
        "unused_in_graph",
        "integers_cannot_require_grad",
        "numpy_refused",
        "deepcopy_refused",
        "assigned_gradient",
        "inference_tensor",
        "grad_mode_surprises",
        "gradient_is_none",
        "gradient_is_nan",
        "nan_from_matrices",
        "nan_from_masks",
        "statistics_of_one_value",
        "clipping_gradients",
        "gradient_doubled",
        "gradient_cut",
        "different_at_a_kink",
        "changed_after_upgrade",
        "weights_move_anyway",
        "memory_grows",
        "backward_is_slow",
        "checkpoint_errors",
        "own_function_errors",
        "hooks_see_other_values",
        "vmap_errors",
        "forward_mode_refused",
        "gradcheck_fails",
        "second_derivative_missing",
        "hessian_and_jacobian",
        "picture_too_big_or_missing",
    ],
}

# The section whose pages answer a stuck reader: looked up one at a time, not read in a row.
PROBLEMS = "problems"

LESSONS = [lesson for lessons in SECTIONS.values() for lesson in lessons]


def lesson_position(filename: str) -> int:
    """Where a lesson stands in the reading order; sphinx-gallery's sort key."""
    return LESSONS.index(Path(filename).stem)


def check(examples: Path) -> None:
    """Compare the list with the files of the folder ``examples``.

    Raises:
        ConfigError: a lesson is in only one of the two; the message names it and the remedy.
    """
    listed = {f"{section}/{lesson}.py" for section, names in SECTIONS.items() for lesson in names}
    found = {path.relative_to(examples).as_posix() for path in examples.rglob("*.py")}
    problems = [
        *(
            f"examples/{name} is not in the reading order: "
            "it belongs into the folder of a section, and its name into"
            for name in found - listed
        ),
        *(
            f"examples/{name} does not exist: write it, or remove it from"
            for name in listed - found
        ),
    ]
    if problems:
        raise ConfigError(
            "\n".join(f"{problem} conf/reading_order.py" for problem in sorted(problems))
        )


def numbered() -> dict[str, int]:
    """The place of each lesson in the whole course, from 1; problems are not read in a row."""
    course = [name for section, names in SECTIONS.items() if section != PROBLEMS for name in names]
    return {name: place for place, name in enumerate(course, start=1)}


def _check_files(app, config) -> None:
    check(Path(app.srcdir).parent / "examples")


def setup(app):
    app.connect("config-inited", _check_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
