-- +goose Up
-- Split sales: each share has a row with what it has by itself, and operations of its own.
--
-- Every statement may be repeated (see 00002). Programs before this file leave the columns at their defaults, which mean a sale that is
-- not split: share 0 of one. They find its row and its operations by the voucher, with which the keys still begin. The two keys are
-- made anew in place, while others read and write: tb_seckill_voucher has a row for each sale, tb_voucher_operation one for each unit
-- that ever came back. Galera lets nothing be written meanwhile: orders wait in Redis. The column of tb_voucher_order is added at its
-- end, which copies nothing.

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_seckill_voucher' AND column_name = 'share'), 'DO 0',
    'ALTER TABLE tb_seckill_voucher
        ADD COLUMN share     TINYINT NOT NULL DEFAULT 0 COMMENT ''its number; window, pause and offer_within are the same in all of a sale'',
        ADD COLUMN shares    TINYINT NOT NULL DEFAULT 1 COMMENT ''how many the sale has'',
        ADD COLUMN moved_in  BIGINT  NOT NULL DEFAULT 0 COMMENT ''units that came from other shares; issued has them'',
        ADD COLUMN moved_out BIGINT  NOT NULL DEFAULT 0 COMMENT ''units that went to other shares'',
        DROP PRIMARY KEY,
        ADD PRIMARY KEY (voucher_id, share)');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher_operation' AND column_name = 'share'), 'DO 0',
    'ALTER TABLE tb_voucher_operation
        ADD COLUMN share TINYINT NOT NULL DEFAULT 0 COMMENT ''of the sale; each numbers its own operations'',
        ADD COLUMN peer  TINYINT NULL COMMENT ''of a move: the share to which the units go, or from which they came'',
        DROP PRIMARY KEY,
        ADD PRIMARY KEY (voucher_id, share, number),
        DROP KEY uk_operation_request,
        ADD UNIQUE KEY uk_operation_request (voucher_id, idempotency_key, share),
        DROP KEY idx_operation_state,
        ADD KEY idx_operation_state (state, voucher_id, share, number)');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher_order' AND column_name = 'share'), 'DO 0',
    'ALTER TABLE tb_voucher_order ADD COLUMN share TINYINT NOT NULL DEFAULT 0 COMMENT ''of the sale''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;
