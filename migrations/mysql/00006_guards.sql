-- +goose Up
-- Guards of sales against bots. The statement may be repeated (see 00002); the column is added at the end, without copying
-- the table.

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher' AND column_name = 'guards'), 'DO 0',
    'ALTER TABLE tb_voucher
        ADD COLUMN guards VARCHAR(2048) NOT NULL DEFAULT '''' COMMENT ''JSON: the guards of its sale; empty: none''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;
