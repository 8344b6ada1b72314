-- +goose Up
-- Coupons: which vouchers are redeemed by code, the codes of paid orders, and the state lapsed.
--
-- Every statement may be repeated (see 00002). The change of tb_voucher_order copies the table, since a stored column is
-- computed anew: reading and admission go on meanwhile, recording waits (docs/upgrades.md has how long). It is one
-- statement, so that the copy is made once, and is told by the column that it adds.

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher' AND column_name = 'redeemable'), 'DO 0',
    'ALTER TABLE tb_voucher
        ADD COLUMN redeemable  BOOLEAN     NOT NULL DEFAULT FALSE COMMENT ''paid orders have a code'',
        ADD COLUMN valid_until DATETIME(3) NULL COMMENT ''of their coupons, exclusive'',
        ADD COLUMN valid_days  BIGINT      NOT NULL DEFAULT 0 COMMENT ''after the payment; 0: valid_until, or for ever''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher_order' AND column_name = 'lapse_time'), 'DO 0',
    'ALTER TABLE tb_voucher_order
        ADD COLUMN lapse_time DATETIME(3) NULL,
        MODIFY COLUMN status TINYINT NOT NULL COMMENT
            ''1 unpaid, 2 paid, 3 redeemed, 4 cancelled, 5 refunding, 6 refunded, 7 failed, 8 lapsed'',
        MODIFY COLUMN live TINYINT GENERATED ALWAYS AS
            (CASE WHEN kind = 1 AND status IN (1, 2, 3, 5, 8) THEN 1 ELSE NULL END) STORED,
        DROP CONSTRAINT ck_order_status,
        ADD CONSTRAINT ck_order_state CHECK (status BETWEEN 1 AND 8)');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

-- The coupon of a paid order. Every change of one is made under the lock of its order's row; code and order never change.
CREATE TABLE IF NOT EXISTS tb_coupon (
    order_id         BIGINT       NOT NULL,
    code             CHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    voucher_id       BIGINT       NOT NULL,
    shop_id          BIGINT       NOT NULL,
    valid_until      DATETIME(3)  NULL COMMENT 'exclusive; NULL: for ever',
    due_time         DATETIME(3)  NULL COMMENT 'when the lapser looks at it; NULL: never again',
    reservation      VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'id of the last one, unless it was ended',
    reserved_by      BIGINT       NULL COMMENT 'till',
    reserve_key      VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'of the request',
    reserved_until   DATETIME(3)  NULL COMMENT 'exclusive',
    redeemed_by      BIGINT       NULL COMMENT 'till',
    redeem_key       VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'of the request',
    create_time      DATETIME(3)  NOT NULL,
    PRIMARY KEY (order_id),
    UNIQUE KEY uk_coupon_code (code),
    KEY idx_coupon_due (due_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
