"""Objects of the Kubernetes API: the base of the models in `skein.models`.

Python names are snake_case, the API's are camelCase; both are accepted. What is not set is not sent, so that the API
server fills in its defaults and other writers keep their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from skein.errors import UnknownShape

GROUP = "skein.dev"
VERSION = "v1alpha1"


class Model(BaseModel):
    """A part of an object. A field that the API does not know is an error here, not a silent loss."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", validate_assignment=True)

    def to_api(self) -> dict[str, Any]:
        """As the API has it: camelCase, and only what was set."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class ObjectMeta(Model):
    """Name, labels and what the API server keeps of an object."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    finalizers: list[str] | None = None


class Condition(Model):
    """A condition of an object: `type` is True, False or Unknown, why in one word, and why in a sentence."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: datetime
    observed_generation: int | None = None


class Status(Model):
    """The base of every status."""

    conditions: list[Condition] | None = None
    observed_generation: int | None = None


SpecT = TypeVar("SpecT", bound=Model)
StatusT = TypeVar("StatusT", bound=Model)


class Resource(Model, Generic[SpecT, StatusT]):
    """An object with a spec, which people write, and a status, which the coordinator writes."""

    KIND: ClassVar[str]
    PLURAL: ClassVar[str]
    NAMESPACED: ClassVar[bool]

    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = ""
    metadata: ObjectMeta
    spec: SpecT
    status: StatusT | None = None

    @classmethod
    def named(
        cls,
        name: str,
        spec: SpecT,
        *,
        namespace: str | None = None,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
    ) -> Self:
        """An object to apply. Without a namespace it goes to that of the fleet."""
        given = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
        metadata = ObjectMeta.model_validate({key: value for key, value in given.items() if value is not None})
        return cls(metadata=metadata, spec=spec)

    @classmethod
    def from_api(cls, body: Mapping[str, Any]) -> Self:
        """Reads what an API server sent. Fields of a newer Skein are left out.

        Raises `UnknownShape` when a field has a value that this version of the SDK does not know.
        """
        try:
            return cls.model_validate(body, extra="ignore")
        except ValidationError as error:
            raise UnknownShape(cls.KIND, str(body.get("metadata", {}).get("name")), str(error)) from error

    @property
    def name(self) -> str:
        """`metadata.name`, or "" while the object has none."""
        return self.metadata.name or ""

    @property
    def namespace(self) -> str:
        """`metadata.namespace`; "" for an object in no namespace."""
        return self.metadata.namespace or ""

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of the status; empty while there is none."""
        return list(getattr(self.status, "conditions", None) or [])

    def condition(self, type: str) -> Condition | None:
        """The condition of this type, such as Ready; None while the object does not have it."""
        return next((condition for condition in self.conditions if condition.type == type), None)

    def is_observed(self, condition: Condition) -> bool:
        """Whether the condition speaks of the present spec, and not of one from before a change."""
        stated = condition.observed_generation
        if stated is None:
            stated = getattr(self.status, "observed_generation", None)
        return stated is None or self.metadata.generation is None or stated >= self.metadata.generation

    def has(self, condition: str) -> bool:
        """Whether a condition holds for the present spec: "Ready", or "Ready=False"."""
        type_, _, wanted = condition.partition("=")
        found = self.condition(type_)
        return found is not None and found.status == (wanted or "True") and self.is_observed(found)

    def to_apply(self) -> dict[str, Any]:
        """The body of a server-side apply: identity and spec, without status and what the server keeps."""
        metadata = self.metadata.model_dump(
            mode="json",
            by_alias=True,
            exclude_unset=True,
            include={"name", "namespace", "labels", "annotations"},
        )
        return {
            "apiVersion": self.api_version,
            "kind": self.KIND,
            "metadata": metadata,
            "spec": self.spec.to_api(),
        }


__all__ = ["GROUP", "VERSION", "Condition", "Field", "Model", "ObjectMeta", "Resource", "Status"]
