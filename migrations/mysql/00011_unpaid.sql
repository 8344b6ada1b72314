-- +goose Up
-- Whose orders expired unpaid in sales with a cool-down. A user without one within a week has no row, or an old one that is
-- deleted when others are counted.
CREATE TABLE IF NOT EXISTS tb_unpaid (
    user_id   BIGINT      NOT NULL PRIMARY KEY,
    expired   BIGINT      NOT NULL COMMENT 'orders, each within a week of the one before',
    last_time DATETIME(3) NOT NULL COMMENT 'when the last of them expired',
    number    BIGINT      NOT NULL COMMENT 'of the transaction that wrote the row last, in the order of commits',
    KEY idx_number (number, user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
