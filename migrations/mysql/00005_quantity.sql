-- +goose Up
-- Orders of several units: how many a user may have of a voucher, and how many an order has.
--
-- Every statement may be repeated (see 00002). Adding a column with a constant default at the end of a table copies nothing,
-- in MySQL 8.4 and MariaDB alike. Programs before this file leave the columns at their defaults, which is what they mean.

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher' AND column_name = 'per_user'), 'DO 0',
    'ALTER TABLE tb_voucher ADD COLUMN per_user TINYINT NOT NULL DEFAULT 0
        COMMENT ''units that a user may have; 0: one in a sale, any number of an ordinary voucher''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher_order' AND column_name = 'quantity'), 'DO 0',
    'ALTER TABLE tb_voucher_order ADD COLUMN quantity TINYINT NOT NULL DEFAULT 1 COMMENT ''units''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;
