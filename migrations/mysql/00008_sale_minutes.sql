-- +goose Up
-- How one process answered the requests for a sale during a minute. It is written anew every few seconds while something is
-- asked; a higher number of requests is the newer state.
CREATE TABLE IF NOT EXISTS tb_sale_minute (
    voucher_id BIGINT        NOT NULL,
    start_time DATETIME(3)   NOT NULL COMMENT 'a whole minute, by the process''s clock',
    run        BIGINT        NOT NULL COMMENT 'random number of the process',
    asked      BIGINT        NOT NULL COMMENT 'requests in all',
    totals     VARCHAR(1024) NOT NULL COMMENT 'JSON: answer to requests',
    seconds    TEXT          NOT NULL COMMENT 'JSON: answer to second of the minute to requests',
    PRIMARY KEY (voucher_id, start_time, run)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
