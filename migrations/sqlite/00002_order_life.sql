-- +goose Up
-- The same changes as in ../mysql, whose comments hold here too. Applied in one transaction.

ALTER TABLE tb_voucher ADD COLUMN pay_within BIGINT NOT NULL DEFAULT 900;
ALTER TABLE tb_voucher_order ADD COLUMN pay_deadline DATETIME NULL;
CREATE INDEX idx_order_due ON tb_voucher_order (status, pay_deadline);

DROP TABLE tb_voucher_operation;

CREATE TABLE tb_voucher_operation (
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
    PRIMARY KEY (voucher_id, number),
    CONSTRAINT ck_operation_state CHECK (state BETWEEN 1 AND 5)
) WITHOUT ROWID;
CREATE UNIQUE INDEX uk_operation_request ON tb_voucher_operation (voucher_id, idempotency_key);
CREATE INDEX idx_operation_state ON tb_voucher_operation (state, voucher_id, number);

CREATE TABLE tb_order_event (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id    BIGINT       NOT NULL,
    status      TINYINT      NOT NULL,
    actor       VARCHAR(32)  NOT NULL,
    why         VARCHAR(255) NOT NULL DEFAULT '',
    create_time DATETIME     NOT NULL
);
CREATE INDEX idx_event_order ON tb_order_event (order_id);

CREATE TABLE tb_payment (
    id           VARCHAR(64) NOT NULL PRIMARY KEY,
    order_id     BIGINT      NOT NULL,
    user_id      BIGINT      NOT NULL,
    voucher_id   BIGINT      NOT NULL,
    amount       BIGINT      NOT NULL,
    state        TINYINT     NOT NULL,
    operation    BIGINT      NULL,
    create_time  DATETIME    NOT NULL,
    receive_time DATETIME    NULL,
    accept_time  DATETIME    NULL,
    refund_time  DATETIME    NULL,
    CONSTRAINT ck_payment_state CHECK (state BETWEEN 1 AND 5)
) WITHOUT ROWID;
CREATE INDEX idx_payment_order ON tb_payment (order_id);
CREATE INDEX idx_payment_state ON tb_payment (state, create_time);

CREATE TABLE tb_order_request (
    user_id     BIGINT       NOT NULL,
    request_key VARCHAR(255) NOT NULL,
    order_id    BIGINT       NOT NULL,
    create_time DATETIME     NOT NULL,
    PRIMARY KEY (user_id, request_key)
) WITHOUT ROWID;

CREATE TABLE tb_fence (
    name  VARCHAR(64) NOT NULL PRIMARY KEY,
    token BIGINT      NOT NULL
) WITHOUT ROWID;
