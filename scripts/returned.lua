-- Prelude of scripts that give units back to a sale. Units returned to a sold-out sale wait until no instance can
-- answer SOLD_OUT from its cache any more (rule 11, docs/architecture.md).

local MAX_DELAY = 60000 -- the longest wait of returned units, milliseconds

-- past reports whether a time has come. A time more than MAX_DELAY ahead counts as past: the clock was set back, as by
-- a failover to a server whose clock is behind.
local function past(time, now)
  return now >= time or time - now > MAX_DELAY
end

-- ripen returns stock and returned units, after moving units that have waited long enough into the stock.
local function ripen(stock, returned, returned_at, now)
  if returned > 0 and past(returned_at, now) then
    return stock + returned, 0
  end
  return stock, returned
end

-- give_back returns stock, returned units and the time when those can be sold, after more units were given back. Units
-- given back while others wait become sellable with those: every cached SOLD_OUT is older than the first of them.
local function give_back(units, stock, returned, returned_at, now, delay)
  if stock > 0 then
    return stock + units, returned, returned_at
  elseif returned > 0 then
    return stock, returned + units, returned_at
  end
  return stock, units, now + delay
end
