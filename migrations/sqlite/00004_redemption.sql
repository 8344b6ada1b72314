-- +goose Up
-- The same changes as in ../mysql, whose comments hold here too. Applied in one transaction.

ALTER TABLE tb_voucher ADD COLUMN redeemable BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE tb_voucher ADD COLUMN valid_until DATETIME NULL;
ALTER TABLE tb_voucher ADD COLUMN valid_days BIGINT NOT NULL DEFAULT 0;

-- SQLite changes neither a computed column nor a check, so the table is written anew.
CREATE TABLE tb_voucher_order_new (
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
    live           TINYINT GENERATED ALWAYS AS (CASE WHEN kind = 1 AND status IN (1, 2, 3, 5, 8) THEN 1 ELSE NULL END) STORED,
    pay_deadline   DATETIME     NULL,
    lapse_time     DATETIME     NULL,
    CONSTRAINT ck_order_kind CHECK (kind IN (0, 1)),
    CONSTRAINT ck_order_state CHECK (status BETWEEN 1 AND 8)
);
INSERT INTO tb_voucher_order_new (id, user_id, voucher_id, kind, amount, pay_type, status, reason, detail, create_time,
    pay_time, redeem_time, cancel_time, refunding_time, refund_time, fail_time, pay_deadline)
SELECT id, user_id, voucher_id, kind, amount, pay_type, status, reason, detail, create_time,
    pay_time, redeem_time, cancel_time, refunding_time, refund_time, fail_time, pay_deadline
FROM tb_voucher_order;
DROP TABLE tb_voucher_order;
ALTER TABLE tb_voucher_order_new RENAME TO tb_voucher_order;
CREATE UNIQUE INDEX uk_order_live ON tb_voucher_order (user_id, voucher_id, live);
CREATE INDEX idx_order_voucher ON tb_voucher_order (voucher_id);
CREATE INDEX idx_order_due ON tb_voucher_order (status, pay_deadline);

CREATE TABLE tb_coupon (
    order_id       INTEGER      PRIMARY KEY,
    code           CHAR(16)     NOT NULL,
    voucher_id     BIGINT       NOT NULL,
    shop_id        BIGINT       NOT NULL,
    valid_until    DATETIME     NULL,
    due_time       DATETIME     NULL,
    reservation    VARCHAR(64)  NULL,
    reserved_by    BIGINT       NULL,
    reserve_key    VARCHAR(255) NULL,
    reserved_until DATETIME     NULL,
    redeemed_by    BIGINT       NULL,
    redeem_key     VARCHAR(255) NULL,
    create_time    DATETIME     NOT NULL
);
CREATE UNIQUE INDEX uk_coupon_code ON tb_coupon (code);
CREATE INDEX idx_coupon_due ON tb_coupon (due_time);
