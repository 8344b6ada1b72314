-- +goose Up
-- Whose payment it is, and by which id the provider knows it. Both columns are added at the end, which takes no time.
--
-- Every statement may be repeated (see 00002).

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_payment' AND column_name = 'provider'), 'DO 0',
    'ALTER TABLE tb_payment
        ADD COLUMN provider  VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''''
            COMMENT ''empty: of a version that knew one provider only, or nothing to pay'',
        ADD COLUMN reference VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''''
            COMMENT ''the provider''''s own id of it''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;
