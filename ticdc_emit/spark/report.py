"""What a batch did: counts of rows and messages, what was late, and how far the watermark came."""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.delivery.contract import DeliveryReport

__all__ = ["RunReport"]


@dataclass(frozen=True)
class RunReport:
    """The result of one micro-batch or batch run: seconds, payload bytes, ``watermark`` as TSO (``None``: none yet)."""

    batch_id: int
    rows: int
    late_rows: int
    delivery: DeliveryReport
    seconds: float
    watermark: int | None
    max_commit_ts: int | None

    @property
    def messages(self) -> int:
        return self.delivery.messages

    @property
    def bytes(self) -> int:
        return self.delivery.bytes

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "batch_id": self.batch_id,
            "rows": self.rows,
            "late_rows": self.late_rows,
            "seconds": round(self.seconds, 3),
            "rows_per_second": round(self.rows_per_second, 1),
            "watermark": self.watermark,
            "max_commit_ts": self.max_commit_ts,
            **self.delivery.to_dict(),
        }
