-- +goose Up
-- Who has bought an ordinary voucher with a limit (per_user): the row is written by each purchase, which so waits for the one
-- before it. It counts nothing; the orders do.
CREATE TABLE IF NOT EXISTS tb_limited_buyer (
    voucher_id BIGINT NOT NULL,
    user_id    BIGINT NOT NULL,
    writes     BIGINT NOT NULL COMMENT 'what makes each purchase change the row',
    PRIMARY KEY (voucher_id, user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
