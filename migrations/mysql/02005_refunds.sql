-- +goose Up
-- Refunds that can fail.

-- A refund of a payment, or a part of it. Every change of one is made under the lock of its payment's order. What a
-- payment's own column returned says is the sum of those that are done.
CREATE TABLE IF NOT EXISTS tb_refund (
    number      BIGINT       NOT NULL AUTO_INCREMENT,
    id          VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the provider is asked by it: the payment''s id, or that with a hyphen and a number',
    payment_id  VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    amount      BIGINT       NOT NULL,
    state       TINYINT      NOT NULL COMMENT '1 asked, 2 pending, 3 done, 4 failed',
    origin      TINYINT      NOT NULL COMMENT '1 of all that was left, 2 of a part, 3 begun at the provider, 4 known by a total only, 5 by an earlier version',
    reference   VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'the provider''s own id of it',
    actor       VARCHAR(32)  NOT NULL COMMENT 'who asked for it',
    why         VARCHAR(255) NOT NULL DEFAULT '' COMMENT 'in their words',
    failure     VARCHAR(255) NOT NULL DEFAULT '' COMMENT 'why it failed, in the provider''s words',
    create_time DATETIME(3)  NOT NULL,
    send_time   DATETIME(3)  NULL COMMENT 'when the provider was first asked; the amount stays from then on',
    done_time   DATETIME(3)  NULL COMMENT 'when the money had gone back, also if it failed after that',
    fail_time   DATETIME(3)  NULL,
    close_time  DATETIME(3)  NULL COMMENT 'when staff had seen to its failure',
    PRIMARY KEY (number),
    UNIQUE KEY uk_refund_id (id),
    KEY idx_refund_payment (payment_id, number),
    KEY idx_refund_state (state, close_time, number),
    CONSTRAINT ck_refund_amount CHECK (amount > 0),
    CONSTRAINT ck_refund_state CHECK (state BETWEEN 1 AND 4)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Payments that their provider is to be told to expect no more. A row is deleted once it has been told.
CREATE TABLE IF NOT EXISTS tb_payment_cancel (
    payment_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    create_time DATETIME(3) NOT NULL,
    PRIMARY KEY (payment_id),
    KEY idx_payment_cancel_time (create_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

ALTER TABLE tb_payment
    ADD COLUMN lost_time DATETIME(3) NULL COMMENT 'when money was lost last by a dispute',
    ALGORITHM = INSTANT;

ALTER TABLE tb_payment
    ADD COLUMN lost_before BIGINT NOT NULL DEFAULT 0 COMMENT 'what had been lost before that day, by SECKILL_TIMEZONE',
    ALGORITHM = INSTANT;

ALTER TABLE tb_voucher_order
    ADD COLUMN refunds TINYINT NOT NULL DEFAULT 0 COMMENT '1: tb_refund has refunds of its payments',
    ALGORITHM = INSTANT;
