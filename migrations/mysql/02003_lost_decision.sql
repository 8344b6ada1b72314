-- +goose Up
-- What Redis had of a sale whose last decision by a person the ledger has lost, beside what the ledger had.
CREATE TABLE IF NOT EXISTS tb_lost_decision (
    voucher_id       BIGINT      NOT NULL,
    epoch            BIGINT      NOT NULL COMMENT 'of the rebuild that found it',
    pause            BIGINT      NOT NULL DEFAULT 0 COMMENT 'number of the operation by which it paused the sale; 0: the sale could not sell',
    applied          BIGINT      NOT NULL COMMENT 'number of the last operation that Redis had applied',
    decided          BIGINT      NOT NULL DEFAULT 0 COMMENT 'number of the last decision among them; 0: not known',
    kind             VARCHAR(16) NOT NULL DEFAULT '' COMMENT 'of that decision, as in tb_voucher_operation',
    mode             TINYINT     NOT NULL DEFAULT 0 COMMENT 'that Redis had, as in tb_voucher_operation; 0: not known',
    begin_time       DATETIME(3) NULL,
    end_time         DATETIME(3) NULL,
    stock            BIGINT      NOT NULL,
    ledger_operation BIGINT      NOT NULL,
    ledger_mode      TINYINT     NOT NULL,
    ledger_begin     DATETIME(3) NOT NULL,
    ledger_end       DATETIME(3) NOT NULL,
    ledger_stock     BIGINT      NOT NULL,
    create_time      DATETIME(3) NOT NULL,
    resolve_time     DATETIME(3) NULL COMMENT 'when a person decided anew',
    PRIMARY KEY (voucher_id, epoch),
    KEY idx_lost_open (resolve_time, create_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
