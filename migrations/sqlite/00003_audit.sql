-- +goose Up
-- The same table as in ../mysql, whose comments hold here too.

CREATE TABLE tb_audit (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    voucher_id  BIGINT      NOT NULL DEFAULT 0,
    admin_id    BIGINT      NOT NULL,
    request_id  VARCHAR(64) NOT NULL,
    action      VARCHAR(16) NOT NULL,
    changes     TEXT        NOT NULL,
    delta       BIGINT      NOT NULL DEFAULT 0,
    operation   BIGINT      NOT NULL DEFAULT 0,
    create_time DATETIME    NOT NULL
);
CREATE INDEX idx_audit_voucher ON tb_audit (voucher_id);
CREATE INDEX idx_audit_admin ON tb_audit (admin_id);
