-- +goose Up
-- The ledger, for MySQL 8.4 and MariaDB 10.11 alike.
--
-- DDL commits by itself, so a process that dies half way leaves some of these tables behind: with IF NOT EXISTS the next
-- start finishes the work. Times are UTC with milliseconds, money is in cents, rows are never deleted, and there
-- are no foreign keys: a failed order must be recordable whatever it names.

-- What is sold. The price never changes after the insert.
CREATE TABLE IF NOT EXISTS tb_voucher (
    id           BIGINT        NOT NULL AUTO_INCREMENT,
    shop_id      BIGINT        NOT NULL,
    title        VARCHAR(255)  NOT NULL,
    sub_title    VARCHAR(255)  NOT NULL DEFAULT '',
    rules        VARCHAR(1024) NOT NULL DEFAULT '',
    pay_value    BIGINT        NOT NULL COMMENT 'what the buyer pays, cents',
    actual_value BIGINT        NOT NULL COMMENT 'what it is worth, cents',
    type         TINYINT       NOT NULL COMMENT '0 ordinary, 1 seckill',
    status       TINYINT       NOT NULL COMMENT '1 on the shelf, 2 off, 3 expired',
    version      BIGINT        NOT NULL COMMENT 'raised by every change',
    create_time  DATETIME(3)   NOT NULL,
    update_time  DATETIME(3)   NOT NULL,
    PRIMARY KEY (id),
    KEY idx_voucher_shop (shop_id, status),
    CONSTRAINT ck_voucher_value CHECK (pay_value >= 0 AND actual_value >= 0),
    CONSTRAINT ck_voucher_type CHECK (type IN (0, 1)),
    CONSTRAINT ck_voucher_status CHECK (status IN (1, 2, 3))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The sale of a seckill voucher: the hot row. Every change of stock names the epoch that it was decided in.
CREATE TABLE IF NOT EXISTS tb_seckill_voucher (
    voucher_id     BIGINT      NOT NULL,
    stock          BIGINT      NOT NULL COMMENT 'units that no live order holds',
    issued         BIGINT      NOT NULL COMMENT 'units in all: stock + live orders',
    begin_time     DATETIME(3) NOT NULL,
    end_time       DATETIME(3) NOT NULL COMMENT 'exclusive',
    paused         BOOLEAN     NOT NULL DEFAULT FALSE COMMENT 'by an admin',
    epoch          BIGINT      NOT NULL DEFAULT 0 COMMENT 'raised by every rebuild in Redis; 0 before the first',
    sequence       BIGINT      NOT NULL DEFAULT 0 COMMENT 'highest admission of the epoch that was recorded',
    partition_no   INT         NOT NULL DEFAULT 0 COMMENT 'which stream its orders go to; never computed again',
    retired        BOOLEAN     NOT NULL DEFAULT FALSE COMMENT 'over and drained: Redis no longer holds it',
    last_operation BIGINT      NOT NULL DEFAULT 0 COMMENT 'number of the last row in tb_voucher_operation',
    PRIMARY KEY (voucher_id),
    KEY idx_seckill_retired (retired),
    CONSTRAINT ck_seckill_stock CHECK (stock >= 0),
    CONSTRAINT ck_seckill_window CHECK (end_time > begin_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Orders. The id comes from idworker, never from here; a failed order's id is the fence against its late insert.
CREATE TABLE IF NOT EXISTS tb_voucher_order (
    id             BIGINT       NOT NULL,
    user_id        BIGINT       NOT NULL,
    voucher_id     BIGINT       NOT NULL,
    kind           TINYINT      NOT NULL COMMENT 'as tb_voucher.type',
    amount         BIGINT       NOT NULL COMMENT 'cents, copied from the voucher',
    pay_type       TINYINT      NOT NULL DEFAULT 0 COMMENT '0 not paid yet',
    status         TINYINT      NOT NULL COMMENT '1 unpaid, 2 paid, 3 redeemed, 4 cancelled, 5 refunding, 6 refunded, 7 failed',
    reason         VARCHAR(32)  NOT NULL DEFAULT '' COMMENT 'why it failed, for programs',
    detail         VARCHAR(512) NOT NULL DEFAULT '' COMMENT 'why it failed, for people',
    create_time    DATETIME(3)  NOT NULL COMMENT 'when it was recorded',
    pay_time       DATETIME(3)  NULL,
    redeem_time    DATETIME(3)  NULL,
    cancel_time    DATETIME(3)  NULL,
    refunding_time DATETIME(3)  NULL,
    refund_time    DATETIME(3)  NULL,
    fail_time      DATETIME(3)  NULL,
    -- 1 while the order is its user's one live order in the sale, else NULL, which a unique key ignores. Stored, not
    -- virtual: unique keys on virtual columns have a history of bugs in both servers.
    live           TINYINT GENERATED ALWAYS AS (CASE WHEN kind = 1 AND status IN (1, 2, 3, 5) THEN 1 ELSE NULL END) STORED,
    PRIMARY KEY (id),
    UNIQUE KEY uk_order_live (user_id, voucher_id, live),
    KEY idx_order_voucher (voucher_id),
    CONSTRAINT ck_order_kind CHECK (kind IN (0, 1)),
    CONSTRAINT ck_order_status CHECK (status BETWEEN 1 AND 7)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What gives units back, written in the transaction that does so and then applied to Redis, in order and once.
CREATE TABLE IF NOT EXISTS tb_voucher_operation (
    voucher_id      BIGINT      NOT NULL,
    number          BIGINT      NOT NULL COMMENT 'from 1, without gaps, for each voucher',
    kind            VARCHAR(16) NOT NULL COMMENT 'what happened: cancel, close, refund, stock',
    delta           BIGINT      NOT NULL COMMENT 'units that go back on sale; negative ones were taken',
    order_id        BIGINT      NULL,
    user_id         BIGINT      NULL,
    idempotency_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'of the request that asked for it',
    state           TINYINT     NOT NULL DEFAULT 1 COMMENT '1 pending, 2 applied to Redis, 3 absorbed by a rebuild',
    create_time     DATETIME(3) NOT NULL,
    settle_time     DATETIME(3) NULL COMMENT 'when it was applied or absorbed',
    PRIMARY KEY (voucher_id, number),
    UNIQUE KEY uk_operation_request (voucher_id, idempotency_key),
    KEY idx_operation_state (state),
    CONSTRAINT ck_operation_state CHECK (state IN (1, 2, 3))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- No longer used, and dropped by a later migration: claims whose order id another order had, and the failed order that was
-- written instead.
CREATE TABLE IF NOT EXISTS tb_order_collision (
    claim_id    BIGINT      NOT NULL,
    user_id     BIGINT      NOT NULL,
    order_id    BIGINT      NOT NULL,
    create_time DATETIME(3) NOT NULL,
    PRIMARY KEY (claim_id, user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What all instances must agree on: the key that hides order counts.
CREATE TABLE IF NOT EXISTS tb_setting (
    name        VARCHAR(64)    NOT NULL,
    value       VARBINARY(255) NOT NULL,
    create_time DATETIME(3)    NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
