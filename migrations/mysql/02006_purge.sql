-- +goose Up
-- Purges, and people who are forgotten. Rows of other tables are deleted by a purge alone (migrations.Tables).

-- What was purged of a voucher: a sale that is over, or the old orders of an ordinary voucher. Each transaction that
-- deletes orders adds them to the figures, so that what is left and the figures together are always all orders.
CREATE TABLE IF NOT EXISTS tb_purge (
    voucher_id  BIGINT      NOT NULL,
    orders      BIGINT      NOT NULL DEFAULT 0 COMMENT 'how many were deleted',
    figures     TEXT        NOT NULL COMMENT 'JSON: their sums, as a report has them',
    waitlist    TEXT        NOT NULL COMMENT 'JSON: the numbers of its waiting list; empty: it had none',
    create_time DATETIME(3) NOT NULL,
    end_time    DATETIME(3) NULL COMMENT 'when nothing was left to delete; NULL: it goes on',
    PRIMARY KEY (voucher_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The money of purged payments, by the day on which it came in or went back, by SECKILL_TIMEZONE. Of money of one
-- payment that went back on several days, the last of them is here.
CREATE TABLE IF NOT EXISTS tb_purge_day (
    voucher_id BIGINT      NOT NULL,
    day        VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT '2006-01-02',
    received   BIGINT      NOT NULL,
    receipts   BIGINT      NOT NULL COMMENT 'payments that were received',
    refunded   BIGINT      NOT NULL,
    refunds    BIGINT      NOT NULL COMMENT 'payments that were refunded, or a part of them',
    lost       BIGINT      NOT NULL,
    losses     BIGINT      NOT NULL COMMENT 'payments of which a dispute has cost something',
    returns    BIGINT      NOT NULL COMMENT 'payments of which something went back either way',
    PRIMARY KEY (voucher_id, day),
    KEY idx_purge_day (day)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- People who were forgotten. While that goes on, a row knows whom, so that it can be continued.
CREATE TABLE IF NOT EXISTS tb_forgotten (
    pseudonym   BIGINT      NOT NULL COMMENT 'the number that their rows have instead',
    user_id     BIGINT      NULL COMMENT 'NULL: it is done',
    create_time DATETIME(3) NOT NULL,
    end_time    DATETIME(3) NULL,
    PRIMARY KEY (pseudonym),
    UNIQUE KEY uk_forgotten_user (user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
