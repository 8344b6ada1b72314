-- +goose Up
-- The same changes as in ../mysql, whose comments hold here too. Applied in one transaction.

-- SQLite changes no primary key, so two tables are written anew.
CREATE TABLE tb_seckill_voucher_new (
    voucher_id     INTEGER  NOT NULL,
    stock          BIGINT   NOT NULL,
    issued         BIGINT   NOT NULL,
    begin_time     DATETIME NOT NULL,
    end_time       DATETIME NOT NULL,
    paused         BOOLEAN  NOT NULL DEFAULT FALSE,
    epoch          BIGINT   NOT NULL DEFAULT 0,
    sequence       BIGINT   NOT NULL DEFAULT 0,
    partition_no   INT      NOT NULL DEFAULT 0,
    retired        BOOLEAN  NOT NULL DEFAULT FALSE,
    last_operation BIGINT   NOT NULL DEFAULT 0,
    offer_within   INT      NOT NULL DEFAULT 0,
    offered        BIGINT   NOT NULL DEFAULT 0,
    share          TINYINT  NOT NULL DEFAULT 0,
    shares         TINYINT  NOT NULL DEFAULT 1,
    moved_in       BIGINT   NOT NULL DEFAULT 0,
    moved_out      BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (voucher_id, share),
    CONSTRAINT ck_seckill_stock CHECK (stock >= 0),
    CONSTRAINT ck_seckill_window CHECK (end_time > begin_time)
) WITHOUT ROWID;
INSERT INTO tb_seckill_voucher_new (voucher_id, stock, issued, begin_time, end_time, paused, epoch, sequence, partition_no, retired,
    last_operation, offer_within, offered)
SELECT voucher_id, stock, issued, begin_time, end_time, paused, epoch, sequence, partition_no, retired,
    last_operation, offer_within, offered
FROM tb_seckill_voucher;
DROP TABLE tb_seckill_voucher;
ALTER TABLE tb_seckill_voucher_new RENAME TO tb_seckill_voucher;
CREATE INDEX idx_seckill_retired ON tb_seckill_voucher (retired);

CREATE TABLE tb_voucher_operation_new (
    voucher_id      BIGINT       NOT NULL,
    number          BIGINT       NOT NULL,
    kind            VARCHAR(16)  NOT NULL,
    delta           BIGINT       NOT NULL,
    order_id        BIGINT       NULL,
    user_id         BIGINT       NULL,
    mode            TINYINT      NOT NULL DEFAULT 0,
    begin_time      DATETIME     NULL,
    end_time        DATETIME     NULL,
    actor           VARCHAR(32)  NOT NULL,
    idempotency_key VARCHAR(255) NULL,
    state           TINYINT      NOT NULL,
    create_time     DATETIME     NOT NULL,
    settle_time     DATETIME     NULL,
    offered         BIGINT       NOT NULL DEFAULT 0,
    share           TINYINT      NOT NULL DEFAULT 0,
    peer            TINYINT      NULL,
    PRIMARY KEY (voucher_id, share, number),
    CONSTRAINT ck_operation_state CHECK (state BETWEEN 1 AND 5)
) WITHOUT ROWID;
INSERT INTO tb_voucher_operation_new (voucher_id, number, kind, delta, order_id, user_id, mode, begin_time, end_time, actor,
    idempotency_key, state, create_time, settle_time, offered)
SELECT voucher_id, number, kind, delta, order_id, user_id, mode, begin_time, end_time, actor,
    idempotency_key, state, create_time, settle_time, offered
FROM tb_voucher_operation;
DROP TABLE tb_voucher_operation;
ALTER TABLE tb_voucher_operation_new RENAME TO tb_voucher_operation;
CREATE UNIQUE INDEX uk_operation_request ON tb_voucher_operation (voucher_id, idempotency_key, share);
CREATE INDEX idx_operation_state ON tb_voucher_operation (state, voucher_id, share, number);

ALTER TABLE tb_voucher_order ADD COLUMN share TINYINT NOT NULL DEFAULT 0;
