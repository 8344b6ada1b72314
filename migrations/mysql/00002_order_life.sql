-- +goose Up
-- The life of an order after it was recorded: payment, cancelling, expiring, refunds, their history, and what changes in
-- a voucher while it sells.
--
-- Every statement may be repeated, because a process may die between any two. MySQL 8.4 cannot add a column or a key
-- only if it is missing, so that is asked of information_schema first. A column and a key are two statements: adding a
-- column at the end of a large table takes no time, building a key lets others write meanwhile.

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher' AND column_name = 'pay_within'), 'DO 0',
    'ALTER TABLE tb_voucher ADD COLUMN pay_within BIGINT NOT NULL DEFAULT 900
        COMMENT ''how long an order may stay unpaid, seconds''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

-- NULL for orders of programs that know no deadline; the expirer sets it.
SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher_order' AND column_name = 'pay_deadline'), 'DO 0',
    'ALTER TABLE tb_voucher_order ADD COLUMN pay_deadline DATETIME(3) NULL COMMENT ''an unpaid order is closed then''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

-- For the expirer. New rows go to the end of the unpaid ones, so that the page is in memory already. Lists of a voucher's
-- orders by id have idx_order_voucher, which ends with the primary key.
SET @change = IF(EXISTS (SELECT 1 FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher_order' AND index_name = 'idx_order_due'), 'DO 0',
    'ALTER TABLE tb_voucher_order ADD KEY idx_order_due (status, pay_deadline)');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

-- No program before this file's wrote a row into the table, so it is made anew instead of altered column by column.
DROP TABLE IF EXISTS tb_voucher_operation;

-- What changes a sale after its creation: written in the transaction that does so, then applied to Redis, in order and
-- once.
CREATE TABLE tb_voucher_operation (
    voucher_id      BIGINT      NOT NULL,
    number          BIGINT      NOT NULL COMMENT 'from 1, without gaps, for each voucher',
    kind            VARCHAR(16) NOT NULL COMMENT 'cancel, close, refund, revive, stock, pause, resume, shelf, window',
    delta           BIGINT      NOT NULL COMMENT 'units that go on sale; negative ones are to be taken',
    order_id        BIGINT      NULL,
    user_id         BIGINT      NULL COMMENT 'whose order it is',
    mode            TINYINT     NOT NULL DEFAULT 0 COMMENT 'of the sale from now on: 0 as before, 1 open, 2 paused, 3 off the shelf',
    begin_time      DATETIME(3) NULL COMMENT 'of the sale from now on; NULL: as before',
    end_time        DATETIME(3) NULL,
    actor           VARCHAR(32) NOT NULL COMMENT 'who did it',
    idempotency_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'of the request that asked for it',
    state           TINYINT     NOT NULL COMMENT '1 pending, 2 applied to Redis, 3 absorbed by a rebuild, 4 refused, 5 void',
    create_time     DATETIME(3) NOT NULL,
    settle_time     DATETIME(3) NULL COMMENT 'when it ceased to be pending',
    PRIMARY KEY (voucher_id, number),
    UNIQUE KEY uk_operation_request (voucher_id, idempotency_key),
    KEY idx_operation_state (state, voucher_id, number),
    CONSTRAINT ck_operation_state CHECK (state BETWEEN 1 AND 5)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The history of orders since they were recorded, one row for each event.
CREATE TABLE IF NOT EXISTS tb_order_event (
    id          BIGINT       NOT NULL AUTO_INCREMENT,
    order_id    BIGINT       NOT NULL,
    status      TINYINT      NOT NULL COMMENT 'of the order from then on',
    actor       VARCHAR(32)  NOT NULL COMMENT 'who did it',
    why         VARCHAR(255) NOT NULL DEFAULT '' COMMENT 'for people',
    create_time DATETIME(3)  NOT NULL,
    PRIMARY KEY (id),
    KEY idx_event_order (order_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Attempts to pay. Every change of one is made under the lock of its order's row.
CREATE TABLE IF NOT EXISTS tb_payment (
    id           VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the provider knows it by this',
    order_id     BIGINT      NOT NULL,
    user_id      BIGINT      NOT NULL,
    voucher_id   BIGINT      NOT NULL,
    amount       BIGINT      NOT NULL COMMENT 'cents, the order''s',
    state        TINYINT     NOT NULL COMMENT '1 open, 2 received, 3 late, 4 refunding, 5 refunded',
    operation    BIGINT      NULL COMMENT 'number of the revival that decides about a late one',
    create_time  DATETIME(3) NOT NULL,
    receive_time DATETIME(3) NULL COMMENT 'when the provider said that it has the money',
    accept_time  DATETIME(3) NULL COMMENT 'when the order was paid with it',
    refund_time  DATETIME(3) NULL COMMENT 'when the money had gone back',
    PRIMARY KEY (id),
    KEY idx_payment_order (order_id),
    KEY idx_payment_state (state, create_time),
    CONSTRAINT ck_payment_state CHECK (state BETWEEN 1 AND 5)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Requests for ordinary vouchers that came with a key, so that a repeated one buys once.
CREATE TABLE IF NOT EXISTS tb_order_request (
    user_id     BIGINT      NOT NULL,
    request_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    order_id    BIGINT      NOT NULL,
    create_time DATETIME(3) NOT NULL,
    PRIMARY KEY (user_id, request_key)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The highest token that was used for each job that one instance at a time does.
CREATE TABLE IF NOT EXISTS tb_fence (
    name  VARCHAR(64) NOT NULL,
    token BIGINT      NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
