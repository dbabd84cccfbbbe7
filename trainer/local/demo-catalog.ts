/** Words for the items of the demo shop. All names are invented. */
export type DemoCategory = {
  readonly name: string;
  readonly nouns: readonly string[];
  readonly price: number; // of a typical item
  /** Names of the categories that users go on to in the same visit. */
  readonly goesWith: readonly string[];
};

const category = (name: string, price: number, nouns: string, goesWith: string): DemoCategory => ({
  name,
  price,
  nouns: nouns.split(", "),
  goesWith: goesWith.split(", "),
});

export const DEMO_CATEGORIES: readonly DemoCategory[] = [
  category("Running", 95, "Running Shoe, Trail Shoe, Running Vest, Split Shorts", "Socks, Nutrition"),
  category("Hiking", 130, "Hiking Boot, Trekking Pole, Rain Shell, Gaiters", "Socks, Camping"),
  category("Camping", 160, "Two-Person Tent, Sleeping Bag, Camp Stove, Lantern", "Hiking, Cookware"),
  category("Cycling", 120, "Bib Shorts, Cycling Helmet, Bar Bag, Floor Pump", "Nutrition, Lights"),
  category("Swimming", 40, "Swim Goggles, Training Fins, Swim Cap, Pull Buoy", "Towels, Nutrition"),
  category("Yoga", 45, "Yoga Mat, Cork Block, Leggings, Bolster", "Towels, Tea"),
  category("Climbing", 110, "Climbing Shoe, Harness, Chalk Bag, Rope", "Nutrition, Hiking"),
  category("Socks", 14, "Merino Sock, Crew Sock, No-Show Sock, Compression Sock", "Running, Hiking"),
  category("Nutrition", 25, "Energy Gel, Protein Bar, Electrolyte Tablet, Oat Bar", "Running, Cycling"),
  category("Cookware", 70, "Cast-Iron Pan, Saucepan, Chef's Knife, Cutting Board", "Spices, Baking"),
  category("Baking", 30, "Loaf Tin, Rolling Pin, Dough Scraper, Stand Mixer", "Spices, Cookware"),
  category("Spices", 9, "Smoked Paprika, Cumin Seed, Za'atar, Garam Masala", "Cookware, Tea"),
  category("Coffee", 35, "Espresso Beans, Hand Grinder, Pour-Over Cone, Gooseneck Kettle", "Tea, Mugs"),
  category("Tea", 18, "Green Tea, Earl Grey, Rooibos, Teapot", "Mugs, Coffee"),
  category("Mugs", 16, "Stoneware Mug, Travel Mug, Espresso Cup, Enamel Mug", "Coffee, Tea"),
  category("Bedding", 85, "Linen Sheet, Down Pillow, Wool Blanket, Duvet Cover", "Towels, Lights"),
  category("Towels", 28, "Bath Towel, Beach Towel, Hand Towel, Bath Mat", "Bedding, Swimming"),
  category("Lights", 55, "Desk Lamp, Bike Light, Head Torch, Floor Lamp", "Bedding, Office"),
  category("Office", 60, "Fountain Pen, Notebook, Desk Mat, Monitor Stand", "Lights, Audio"),
  category("Audio", 150, "Headphones, Bookshelf Speaker, Turntable, Earbuds", "Office, Board Games"),
  category("Board Games", 38, "Strategy Game, Card Game, Party Game, Puzzle", "Tea, Toys"),
  category("Toys", 27, "Wooden Train, Building Blocks, Plush Bear, Kite", "Board Games, Books for Children"),
  category("Books for Children", 14, "Picture Book, Bedtime Stories, Atlas, Alphabet Book", "Toys, Board Games"),
  category("Garden", 42, "Pruning Shears, Raised Bed, Watering Can, Seed Mix", "Lights, Tea"),
];

export const DEMO_STYLES = ["classic", "bright", "rugged", "minimal", "handmade", "light"] as const;

export const DEMO_BRANDS: readonly string[] = (
  "Alderly Brightfen Corvale Dunmore Eskdale Fernhill Galtry Hollin Ivarsund Juniper&Co Kestrelby Larkmoor Maplewick " +
  "Norrow Oakhaven Pellworth Quillon Rowanto Saltmere Thornby Umbrel Vossen Wickham Yarrowby Zephyrine"
).split(" ");

export const DEMO_TAGS = "gift, new season, recycled, organic, limited, bestseller, made to last".split(", ");
export const DEMO_COUNTRIES = ["DE", "FR", "NL", "IT", "ES", "SE"] as const;
export const DEMO_AGE_GROUPS = ["18-24", "25-34", "35-44", "45-54", "55+"] as const;
