-- +goose Up
-- Vouchers that are hidden from the public until their time. Every statement may be repeated (see 00002).

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher' AND column_name = 'visible_from'), 'DO 0',
    'ALTER TABLE tb_voucher ADD COLUMN visible_from DATETIME(3) NULL COMMENT ''before then for admins only; NULL: always visible''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

-- Which ids are hidden still is asked several times a second while somebody tries ids.
SET @change = IF(EXISTS (SELECT 1 FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher' AND index_name = 'idx_voucher_visible'), 'DO 0',
    'ALTER TABLE tb_voucher ADD KEY idx_voucher_visible (visible_from)');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;
