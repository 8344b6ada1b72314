-- +goose Up
-- The comments are in the file for MySQL.
CREATE TABLE IF NOT EXISTS tb_lost_decision (
    voucher_id       BIGINT      NOT NULL,
    epoch            BIGINT      NOT NULL,
    pause            BIGINT      NOT NULL DEFAULT 0,
    applied          BIGINT      NOT NULL,
    decided          BIGINT      NOT NULL DEFAULT 0,
    kind             VARCHAR(16) NOT NULL DEFAULT '',
    mode             TINYINT     NOT NULL DEFAULT 0,
    begin_time       DATETIME    NULL,
    end_time         DATETIME    NULL,
    stock            BIGINT      NOT NULL,
    ledger_operation BIGINT      NOT NULL,
    ledger_mode      TINYINT     NOT NULL,
    ledger_begin     DATETIME    NOT NULL,
    ledger_end       DATETIME    NOT NULL,
    ledger_stock     BIGINT      NOT NULL,
    create_time      DATETIME    NOT NULL,
    resolve_time     DATETIME    NULL,
    PRIMARY KEY (voucher_id, epoch)
);
CREATE INDEX IF NOT EXISTS idx_lost_open ON tb_lost_decision (resolve_time, create_time);
