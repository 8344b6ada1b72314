-- +goose Up
-- The ledger of the embedded mode: the same tables, columns and rules as in ../mysql, whose comments hold here too.
-- Applied in one transaction. Times are UTC text with milliseconds. SQLite ignores the widths of VARCHAR, so the
-- widths that matter are checks.

CREATE TABLE tb_voucher (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    shop_id      BIGINT        NOT NULL,
    title        VARCHAR(255)  NOT NULL CHECK (length(title) <= 255),
    sub_title    VARCHAR(255)  NOT NULL DEFAULT '' CHECK (length(sub_title) <= 255),
    rules        VARCHAR(1024) NOT NULL DEFAULT '' CHECK (length(rules) <= 1024),
    pay_value    BIGINT        NOT NULL,
    actual_value BIGINT        NOT NULL,
    type         TINYINT       NOT NULL,
    status       TINYINT       NOT NULL,
    version      BIGINT        NOT NULL,
    create_time  DATETIME      NOT NULL,
    update_time  DATETIME      NOT NULL,
    CONSTRAINT ck_voucher_value CHECK (pay_value >= 0 AND actual_value >= 0),
    CONSTRAINT ck_voucher_type CHECK (type IN (0, 1)),
    CONSTRAINT ck_voucher_status CHECK (status IN (1, 2, 3))
);
CREATE INDEX idx_voucher_shop ON tb_voucher (shop_id, status);

CREATE TABLE tb_seckill_voucher (
    voucher_id     INTEGER  PRIMARY KEY,
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
    CONSTRAINT ck_seckill_stock CHECK (stock >= 0),
    CONSTRAINT ck_seckill_window CHECK (end_time > begin_time)
);
CREATE INDEX idx_seckill_retired ON tb_seckill_voucher (retired);

CREATE TABLE tb_voucher_order (
    id             INTEGER      PRIMARY KEY,
    user_id        BIGINT       NOT NULL,
    voucher_id     BIGINT       NOT NULL,
    kind           TINYINT      NOT NULL,
    amount         BIGINT       NOT NULL,
    pay_type       TINYINT      NOT NULL DEFAULT 0,
    status         TINYINT      NOT NULL,
    reason         VARCHAR(32)  NOT NULL DEFAULT '',
    detail         VARCHAR(512) NOT NULL DEFAULT '',
    create_time    DATETIME     NOT NULL,
    pay_time       DATETIME     NULL,
    redeem_time    DATETIME     NULL,
    cancel_time    DATETIME     NULL,
    refunding_time DATETIME     NULL,
    refund_time    DATETIME     NULL,
    fail_time      DATETIME     NULL,
    live           TINYINT GENERATED ALWAYS AS (CASE WHEN kind = 1 AND status IN (1, 2, 3, 5) THEN 1 ELSE NULL END) STORED,
    CONSTRAINT ck_order_kind CHECK (kind IN (0, 1)),
    CONSTRAINT ck_order_status CHECK (status BETWEEN 1 AND 7)
);
CREATE UNIQUE INDEX uk_order_live ON tb_voucher_order (user_id, voucher_id, live);
CREATE INDEX idx_order_voucher ON tb_voucher_order (voucher_id);

CREATE TABLE tb_voucher_operation (
    voucher_id      BIGINT       NOT NULL,
    number          BIGINT       NOT NULL,
    kind            VARCHAR(16)  NOT NULL,
    delta           BIGINT       NOT NULL,
    order_id        BIGINT       NULL,
    user_id         BIGINT       NULL,
    idempotency_key VARCHAR(255) NULL,
    state           TINYINT      NOT NULL DEFAULT 1,
    create_time     DATETIME     NOT NULL,
    settle_time     DATETIME     NULL,
    PRIMARY KEY (voucher_id, number),
    CONSTRAINT ck_operation_state CHECK (state IN (1, 2, 3))
) WITHOUT ROWID;
CREATE UNIQUE INDEX uk_operation_request ON tb_voucher_operation (voucher_id, idempotency_key);
CREATE INDEX idx_operation_state ON tb_voucher_operation (state);

CREATE TABLE tb_order_collision (
    claim_id    BIGINT   NOT NULL,
    user_id     BIGINT   NOT NULL,
    order_id    BIGINT   NOT NULL,
    create_time DATETIME NOT NULL,
    PRIMARY KEY (claim_id, user_id)
) WITHOUT ROWID;

CREATE TABLE tb_setting (
    name        VARCHAR(64) NOT NULL PRIMARY KEY,
    value       BLOB        NOT NULL,
    create_time DATETIME    NOT NULL
) WITHOUT ROWID;
