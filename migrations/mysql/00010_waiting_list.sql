-- +goose Up
-- The waiting list of a sale: who waits for a unit that comes back, and which units are kept for whom.
--
-- Every statement may be repeated (see 00002). Programs before this file leave the columns at their defaults, which mean a
-- sale without a waiting list, and operations that concern none.

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_seckill_voucher' AND column_name = 'offered'), 'DO 0',
    'ALTER TABLE tb_seckill_voucher
        ADD COLUMN offer_within INT    NOT NULL DEFAULT 0 COMMENT ''seconds for which an offer stands; 0: no waiting list'',
        ADD COLUMN offered      BIGINT NOT NULL DEFAULT 0 COMMENT ''units kept for offers: issued = stock + offered + live orders''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

SET @change = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'tb_voucher_operation' AND column_name = 'offered'), 'DO 0',
    'ALTER TABLE tb_voucher_operation ADD COLUMN offered BIGINT NOT NULL DEFAULT 0
        COMMENT ''units that became offers instead of going on sale; negative: that were offered until then''');
PREPARE change_once FROM @change;
EXECUTE change_once;
DEALLOCATE PREPARE change_once;

-- Locked by those who join, so that positions are in the order of their commits.
CREATE TABLE IF NOT EXISTS tb_waiting_list (
    voucher_id    BIGINT  NOT NULL,
    last_position BIGINT  NOT NULL,
    open          BOOLEAN NOT NULL COMMENT 'somebody may wait on it',
    PRIMARY KEY (voucher_id),
    KEY idx_waiting_open (open)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A place on it, and the offer that its user gets when it is their turn. Rows are never deleted.
CREATE TABLE IF NOT EXISTS tb_place (
    voucher_id  BIGINT      NOT NULL,
    position    BIGINT      NOT NULL COMMENT 'from 1, in the order of joining',
    user_id     BIGINT      NOT NULL,
    state       TINYINT     NOT NULL COMMENT '1 waiting, 2 offered, 3 accepted, 4 bought, 5 left, 6 missed, 7 refused, 8 over',
    create_time DATETIME(3) NOT NULL,
    offer_time  DATETIME(3) NULL,
    deadline    DATETIME(3) NULL COMMENT 'until when the offer may be accepted, exclusive',
    attempt     TINYINT     NOT NULL DEFAULT 0 COMMENT 'how often the unit was offered, this time included',
    order_id    BIGINT      NULL COMMENT 'that accepting it makes',
    operation   BIGINT      NULL COMMENT 'which asks Redis to make its user a holder',
    end_time    DATETIME(3) NULL COMMENT 'when it was bought, left, missed, refused or over',
    -- 1 while it is its user's one open place, else NULL, which a unique key ignores.
    open        TINYINT GENERATED ALWAYS AS (CASE WHEN state IN (1, 2, 3) THEN 1 ELSE NULL END) STORED,
    PRIMARY KEY (voucher_id, position),
    UNIQUE KEY uk_place_open (user_id, voucher_id, open),
    KEY idx_place_turn (voucher_id, state, position),
    KEY idx_place_deadline (voucher_id, state, deadline)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
