-- +goose Up
-- Who changed what: one row for each change of an admin's, written in the transaction of the change.

CREATE TABLE IF NOT EXISTS tb_audit (
    id          BIGINT      NOT NULL AUTO_INCREMENT,
    voucher_id  BIGINT      NOT NULL DEFAULT 0 COMMENT '0: it concerns no voucher',
    admin_id    BIGINT      NOT NULL COMMENT 'user id; 0: the service itself',
    request_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'of the request, as in the log',
    action      VARCHAR(16) NOT NULL COMMENT 'create, change, pause, resume, stock, replay, discard',
    changes     TEXT        NOT NULL COMMENT 'JSON: which fields, from what, to what',
    delta       BIGINT      NOT NULL DEFAULT 0 COMMENT 'of stock: units added; negative ones were to be taken',
    operation   BIGINT      NOT NULL DEFAULT 0 COMMENT 'of stock: number in tb_voucher_operation, which tells what became of it',
    create_time DATETIME(3) NOT NULL,
    PRIMARY KEY (id),
    KEY idx_audit_voucher (voucher_id),
    KEY idx_audit_admin (admin_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
