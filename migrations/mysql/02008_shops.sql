-- +goose Up
-- What is known of a shop beside its number. Without a row, it has no name, and the bounds of the settings hold.
CREATE TABLE IF NOT EXISTS tb_shop (
    id          BIGINT       NOT NULL,
    name        VARCHAR(64)  NOT NULL DEFAULT '' COMMENT 'empty: none, it is shown by its number',
    picture     VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'its address; empty: none',
    max_sales   BIGINT       NOT NULL DEFAULT 0 COMMENT 'sales that have not ended; 0: as many as the setting says',
    max_units   BIGINT       NOT NULL DEFAULT 0 COMMENT 'units that one sale ever issues; 0: as many as the setting says',
    create_time DATETIME(3)  NOT NULL,
    update_time DATETIME(3)  NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
