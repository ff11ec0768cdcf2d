"""The AWS Glue Schema Registry. Source: ``pingcap/tiflow: pkg/sink/codec/avro/glue_schema_registry.go``.

GetRegistry once, then GetSchemaVersion (latest) by name and RegisterSchemaVersion, or CreateSchema (AVRO, compatibility
NONE). TiCDC uses the id at once; but Glue checks compatibility after its answer, so this client polls a PENDING version
until it is AVAILABLE or refused. No message may refer to a version that never becomes available.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ticdc_emit.config.codec import GlueSchemaRegistry
from ticdc_emit.config.secrets import AWS_LOGGERS, hide, hide_in_logs, hides_arguments, printable
from ticdc_emit.errors import ConfigError, IncompatibleSchemaError, RegistryError, RegistryUnreachableError, importing
from ticdc_emit.registry.headers import RegisteredSchema, glue_schema

logger = logging.getLogger(__name__)

_LONGEST_WAIT_S = 5.0
_NOT_FOUND = "EntityNotFoundException"


class GlueRegistry:
    """Registers schemas through boto3; without credentials in the configuration, AWS's default ones are used."""

    def __init__(
        self,
        config: GlueSchemaRegistry,
        *,
        timeout_s: float = 10.0,
        attempts: int = 7,
        backoff_s: float = 0.5,
        client: Any = None,
    ) -> None:
        """``attempts`` and ``timeout_s`` apply to each request (boto3's standard retries). A PENDING version is polled
        up to ``attempts`` times, first after ``backoff_s`` seconds, then after twice as long each time, up to 5.
        ``client``: the caller's boto3 client. Raises :class:`~ticdc_emit.errors.MissingDependencyError`.
        """
        self._name = config.registry_name
        self._region = config.region
        self._attempts = attempts
        self._backoff_s = backoff_s
        self._client = client if client is not None else _client(config, timeout_s, attempts)
        self._credentials = (config.access_key, config.secret_access_key, config.token)
        self._probed = False

    def __repr__(self) -> str:
        return f"GlueRegistry({self._name!r}, region={self._region!r})"

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Register a version of the schema ``subject``; the same text gives the same id again. Raises
        :class:`~ticdc_emit.errors.IncompatibleSchemaError`, :class:`~ticdc_emit.errors.RegistryUnreachableError`, else
        :class:`~ticdc_emit.errors.RegistryError` (``code``).
        """
        if not self._probed:
            self._call(subject, self._client.get_registry, RegistryId={"RegistryName": self._name})
            self._probed = True
        name = {"RegistryName": self._name, "SchemaName": subject}
        if self._exists(subject, name):
            answer = self._call(subject, self._client.register_schema_version, SchemaId=name, SchemaDefinition=schema)
            status = answer.get("Status")
        else:
            answer = self._call(
                subject,
                self._client.create_schema,
                RegistryId={"RegistryName": self._name},
                SchemaName=subject,
                DataFormat="AVRO",
                Compatibility="NONE",
                SchemaDefinition=schema,
            )
            status = answer.get("SchemaVersionStatus")
        version_id = str(answer.get("SchemaVersionId"))
        try:
            registered = glue_schema(version_id)
        except ValueError:
            raise RegistryError(
                "AWS Glue answered without the id of a schema version", remedy="Run the batch again", subject=subject
            ) from None
        self._await_check(subject, version_id, status)
        logger.info("registered a schema under %s in the Glue registry %s: %s", subject, self._name, version_id)
        return registered

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _exists(self, subject: str, name: dict[str, str]) -> bool:
        try:
            self._call(
                subject, self._client.get_schema_version, SchemaId=name, SchemaVersionNumber={"LatestVersion": True}
            )
        except RegistryError as error:
            if error.context.get("code") == _NOT_FOUND:
                return False
            raise
        return True

    def _await_check(self, subject: str, version_id: str, status: str | None) -> None:
        from tenacity import Retrying, retry_if_result, stop_after_attempt, wait_exponential

        def ask() -> str | None:
            version = self._call(subject, self._client.get_schema_version, SchemaVersionId=version_id)
            status: str | None = version.get("Status")
            return status

        if status == "PENDING":
            wait = wait_exponential(multiplier=self._backoff_s, max=_LONGEST_WAIT_S)
            retrying = Retrying(
                stop=stop_after_attempt(self._attempts),
                wait=wait,
                retry=retry_if_result(lambda found: found == "PENDING"),
                retry_error_callback=lambda state: "PENDING",
            )
            status = retrying(ask)
        if status == "FAILURE":
            raise IncompatibleSchemaError(
                "AWS Glue refused the schema as incompatible",
                remedy="Make the DDL compatible, or lower the schema's compatibility in Glue",
                subject=subject,
            )
        if status != "AVAILABLE":
            raise RegistryError(
                f"the schema version {version_id} is {status or 'of no status'} in AWS Glue",
                remedy="Try again" if status == "PENDING" else "",
                subject=subject,
                attempts=self._attempts,
            )

    @hides_arguments
    def _call(self, subject: str, operation: Callable[..., Any], **request: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError

        try:
            return operation(**request)
        except ClientError as error:
            answer = error.response.get("Error", {})
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            kind = RegistryUnreachableError if status >= 500 else RegistryError
            raise kind(
                f"AWS Glue refused {error.operation_name}: {self._clean(answer.get('Message') or 'no reason given')}",
                remedy="Check the name of the registry, its region, and the rights of the credentials",
                subject=subject,
                registry=self._name,
                region=self._region,
                code=answer.get("Code"),
                status=status or None,
                attempts=self._attempts if status >= 500 else None,
            ) from None
        except (ConnectionError, HTTPClientError) as error:
            raise RegistryUnreachableError(
                f"AWS Glue did not answer: {self._clean(error)}",
                remedy="Check the region and that it can be reached from here",
                subject=subject,
                region=self._region,
                attempts=self._attempts,
            ) from None
        except BotoCoreError as error:
            raise RegistryError(
                f"AWS Glue cannot be used: {self._clean(error)}",
                remedy="Give access-key and secret-access-key, or credentials that AWS's default chain finds",
                subject=subject,
                region=self._region,
            ) from None

    def _clean(self, text: object) -> str:
        """Return AWS's message without credentials: for a wrong signature it repeats everything that was signed."""
        return printable(hide(str(text), (secret.reveal() for secret in self._credentials if secret is not None)))


@hides_arguments
def _client(config: GlueSchemaRegistry, timeout_s: float, attempts: int) -> Any:
    with importing("AWS Glue needs boto3 and tenacity", extra="glue"):
        import boto3
        import tenacity  # noqa: F401 - part of the same extra
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    credentials = (config.access_key, config.secret_access_key, config.token)
    names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    if any(credentials) and not all(credentials[:2]):
        raise ConfigError(
            "credentials of AWS Glue are incomplete",
            remedy="Give access-key and secret-access-key, or neither and no token",
            option="secret-access-key" if config.access_key else "access-key",
        )
    hide_in_logs(AWS_LOGGERS, credentials)
    given = {name: secret.reveal() for name, secret in zip(names, credentials, strict=True) if secret is not None}
    settings = Config(
        connect_timeout=timeout_s, read_timeout=timeout_s, retries={"total_max_attempts": attempts, "mode": "standard"}
    )
    try:
        return boto3.Session(region_name=config.region, **given).client("glue", config=settings)
    except BotoCoreError as error:
        raise ConfigError(
            f"the AWS Glue registry cannot be used: {error}", remedy="Check the region", option="region"
        ) from None
